package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// granted is what Docker grants a container's root by default.
var granted = []uintptr{unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_FSETID, unix.CAP_KILL, unix.CAP_SETGID, unix.CAP_SETUID,
	unix.CAP_SETPCAP, unix.CAP_NET_BIND_SERVICE, unix.CAP_NET_RAW, unix.CAP_SYS_CHROOT, unix.CAP_MKNOD, unix.CAP_AUDIT_WRITE, unix.CAP_SETFCAP}

// inJail turns cmd into the first process of something like a container: processes and mounts of its own, users of its own,
// and the capabilities that Docker grants by default.
func inJail(t testing.TB, cmd *exec.Cmd) *exec.Cmd {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can make namespaces and change users")
	}
	cmd.Env = append(cmd.Env, "OUTPOST_TEST_ROLE=jail", "OUTPOST_TEST_PROGRAM="+cmd.Path)
	cmd.Path = "/proc/self/exe"
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID}
	return cmd
}

// play is what the test binary does when it was started again as something else.
func play(role string) int {
	if role != "jail" {
		panic("no such role: " + role)
	}
	runtime.LockOSThread() // capabilities are dropped, and kept, by thread
	fatal := func(what string, err error) {
		if err != nil {
			panic(fmt.Sprintf("%s: %v", what, err))
		}
	}
	fatal("keep mounts to ourselves", syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""))
	program := os.Getenv("OUTPOST_TEST_PROGRAM")
	if root := os.Getenv("OUTPOST_TEST_ROOT"); root != "" {
		enterImage(root, fatal)
	} else {
		hideMachine(fatal)
	}
	for capability := uintptr(0); capability < 64; capability++ {
		if !slices.Contains(granted, capability) {
			_ = unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0) // the kernel may not know it
		}
	}
	var clean []string
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "OUTPOST_TEST_") {
			clean = append(clean, pair)
		}
	}
	fatal("execute "+program, syscall.Exec(program, append([]string{program}, os.Args[1:]...), clean))
	return 1
}

// hideMachine puts empty directories over those of the machine that a worker writes to, and users of our own over its users.
func hideMachine(fatal func(string, error)) {
	fatal("mount /proc", syscall.Mount("proc", "/proc", "proc", 0, ""))
	for _, folder := range []string{"/var/lib", "/var/log", "/home", "/run"} {
		fatal("mount "+folder, syscall.Mount("tmpfs", folder, "tmpfs", 0, "mode=755"))
	}
	for name, text := range map[string]string{
		"passwd": "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false", // no newline at its end
		"group":  "root:x:0:\nvideo:x:44:devin\n",
		"shadow": "root:*:19000:0:99999:7:::\n",
	} {
		mine := filepath.Join("/run", name)
		fatal("write users", os.WriteFile(mine, []byte(text), 0o644))
		fatal("mount /etc/"+name, syscall.Mount(mine, "/etc/"+name, "", syscall.MS_BIND, ""))
	}
}

// enterImage makes the root of an image, with the devices that every container has, the root of everything.
func enterImage(root string, fatal func(string, error)) {
	for _, device := range []string{"null", "zero", "random", "urandom"} {
		target := filepath.Join(root, "dev", device)
		file, err := os.OpenFile(target, os.O_CREATE, 0o666)
		fatal("make "+target, err)
		fatal("close "+target, file.Close())
		fatal("mount "+target, syscall.Mount("/dev/"+device, target, "", syscall.MS_BIND, ""))
	}
	fatal("mount /proc", syscall.Mount("proc", filepath.Join(root, "proc"), "proc", 0, ""))
	fatal("enter "+root, syscall.Chroot(root))
	fatal("enter /", os.Chdir("/"))
}
