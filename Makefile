# Two commands on a bare machine: `make experiment` and `make test`.
# Variables: SCENARIOS=iptables,nftables  NODE_IMAGE=auto|registry|source|REF
# IMAGE_SOURCE=auto|registry|source, for the images of data planes
# BUNDLE=FILE|DIR, to take images and charts from a bundle alone
# KERNEL=auto|host|guest, whose kernel clusters run on
# RESULTS=DIR, where `make experiment` writes instead of results/, and `make
# regression` instead of a directory that it removes; `make e2e` judges what is there

SCENARIOS ?=
NODE_IMAGE ?= auto
IMAGE_SOURCE ?= auto
BUNDLE ?=
KERNEL ?= auto
RESULTS ?=
IMAGES := --node-image $(NODE_IMAGE) --image-source $(IMAGE_SOURCE)
RUN = $(if $(SCENARIOS),--scenario $(SCENARIOS)) $(if $(BUNDLE),--bundle $(BUNDLE)) --kernel $(KERNEL) $(IMAGES)
FUZZTIME ?= 1000x

# The flags of the node image build: what both link is compiled once.
BUILD := CGO_ENABLED=0 go build -trimpath -gcflags=all=-dwarf=false -ldflags='-s -w'

.PHONY: experiment test page-test fuzz lint e2e regression verify engine qemu engine-stop clean bench bench-decode help

experiment: engine qemu bin/runner ## run the experiments on real clusters, write results/
	bin/runner run $(RUN) $(if $(RESULTS),--results $(RESULTS))

test: ## unit tests with the race detector, the page in Chromium, a short fuzz of each decoder
	@hack/cc.sh
	go test -race ./...
	@$(MAKE) --no-print-directory page-test fuzz verify

page-test: ## open results/index.html in Chromium: clicks, widths, contrast, paper, hostile names
	@hack/chromium.sh
	go test -tags browser -count 1 ./test/page

fuzz: ## fuzz every decoder with FUZZTIME inputs (1000x) or for a time (30s)
	@hack/fuzz.sh $(FUZZTIME)

lint: ## go vet and staticcheck
	go vet ./...
	go vet -tags e2e ./test/e2e
	go vet -tags browser ./test/page
	go tool -modfile=hack/tools/go.mod staticcheck ./...
	@test -z "$$(gofmt -l cmd hack images internal pkg test | tee /dev/stderr)"

e2e: engine qemu bin/runner ## regression run on real clusters, compared with results/
	$(if $(RESULTS),,bin/runner image cilium --guest $(IMAGES))
	RESULTS=$(abspath $(RESULTS)) NODE_IMAGE=$(NODE_IMAGE) IMAGE_SOURCE=$(IMAGE_SOURCE) KERNEL=$(KERNEL) go test -tags e2e -count 1 -timeout 75m -v ./test/e2e

regression: engine qemu bin/runner ## run the experiments elsewhere, say what is not as in results/
	@RESULTS=$(RESULTS) hack/regression.sh $(RUN)

verify: bin/runner ## check the committed results again from their raw files
	bin/runner verify results

engine: ## make sure a Docker engine answers
	@hack/engine.sh start

qemu: ## install QEMU where the kernel lacks a feature that a guest's has
	@hack/guest.sh

engine-stop: ## end the engine that `make engine` started
	@hack/engine.sh stop

clean: bin/runner ## delete this project's clusters and scratch files
	bin/runner clean
	rm -rf bin .work

bench: engine bin/runner ## a run's wall time against a bare kind cluster
	hack/bench.sh

bench-decode: ## each decoder on a large node's files, against merely reading them
	hack/bench-decode.sh

.PHONY: bin/runner
bin/runner:
	@$(BUILD) -o $@ ./cmd/runner

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "%-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
