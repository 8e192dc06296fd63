# Plain make prints the targets. Everything but deploying runs on this machine alone.
.DEFAULT_GOAL := help
FUNCTION_ARCH ?= arm64
SEEDS ?= 2000
SESSIONS ?= 50
GOLANGCI := $(shell go env GOPATH)/bin/golangci-lint
CDK := npx --yes aws-cdk@2
GO_TEST := go test -tags lambda.norpc

.PHONY: help demo test test-aws test-image lint check build synth deploy drain destroy bench simulate

help: ## Print this list.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: ## Show the whole product on this machine: sessions go from the queue to a worker and back. ARGS="--help" tells the knobs.
	go run ./scripts/demo $(ARGS)

test: ## Run the Go tests and the template tests, and show that the simulator finds deliberate faults.
	$(GO_TEST) ./...
	$(GO_TEST) -tags mutants -run EveryDeliberate ./shared/simulate

test-aws: ## Run the tests against moto, and cfn-lint on the template (needs Python 3).
	scripts/testaws/run.sh

test-image: ## Build the worker's images with buildah and run one once (Debian, as root; needs buildah and debootstrap).
	go test -tags image -count=1 -run Image ./worker

lint: ## Check format, vet and the house rules (needs golangci-lint 2).
	@command -v $(GOLANGCI) >/dev/null || { echo "golangci-lint is missing: go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0" >&2; exit 1; }
	$(GOLANGCI) run ./...

check: lint test test-aws ## Run all checks: lint, test, test-aws.

build: ## Build the functions and the worker into dist/ (FUNCTION_ARCH=arm64 or amd64).
	FUNCTION_ARCH=$(FUNCTION_ARCH) scripts/build.sh

synth: build ## Write the CloudFormation template into cdk.out, offline (needs Node 20).
	scripts/synth.sh

deploy: build ## Deploy to the AWS account that the AWS CLI is set up for.
	scripts/deploy/run.sh $(ARGS)

drain: ## Empty the outposts before an upgrade or a removal: nothing new is taken, sessions run to their end. ARGS="--now" stops them.
	go run ./scripts/outpostctl drain $(ARGS)

destroy: drain ## Drain, then remove the stack.
	$(CDK) destroy

bench: ## Measure pickup, start-up, sizes and memory on this machine (prints figures, judges nothing).
	go run ./scripts/bench $(ARGS)
	go test -run '^$$' -bench Soak -benchtime 1x ./worker

simulate: ## Look for broken promises in simulated worlds full of faults (SEEDS=, SEED=, SESSIONS=).
	go run ./scripts/simulate --seeds $(SEEDS) --sessions $(SESSIONS) $(if $(SEED),--seed $(SEED)) $(ARGS)
