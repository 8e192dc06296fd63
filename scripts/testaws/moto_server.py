"""Serves moto on a free loopback port, prints the URL, and handles one request at a time.

moto's own server answers requests in parallel, but checks a DynamoDB condition and makes the write that depends on it without a lock in between, which AWS
never does: fifty slots then hold fifty-three sessions.
"""

import logging
import threading

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

logging.getLogger("werkzeug").setLevel(logging.ERROR)
one_at_a_time = threading.Lock()
moto = DomainDispatcherApplication(create_backend_app)


def serial(environ, start_response):
    with one_at_a_time:
        return list(moto(environ, start_response))


server = make_server("127.0.0.1", 0, serial, threaded=True)
print(f"http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
