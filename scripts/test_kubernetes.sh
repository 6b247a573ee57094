#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests gandem on a Kubernetes cluster of two nodes on this machine. Run as root.
# Prints one line per check and exits with 1 if a check fails.
# docs/how_to/kubernetes.md has results and limits.
#   scripts/test_kubernetes.sh [NAME...]     default: all cases
# Variables:
# GANDEM_TESTBED   folder of scripts that start a cluster (../shared/testbed/k8s)
# BIN              folder of the Kubernetes 1.20 servers from those scripts
# IMAGE_TAR        output of build_container.sh --output (localhost/gandem:test)
# GANDEM_BUILD_DIR build folder with the same programs as the image

. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

testbed=${GANDEM_TESTBED:-$source_dir/../shared/testbed/k8s}
gandem=$build_dir/bin/gandem
image=localhost/gandem:test
work=$(mktemp -d /tmp/gandem-kubernetes.XXXXXX)
cluster=$work/cluster volume=$work/volume
failed=0

for needed in "$testbed/kcluster.sh" "${BIN:?folder of the Kubernetes servers}" \
    "${IMAGE_TAR:?tar file of the image}" "$gandem"; do
  [[ -e $needed ]] || die "there is no $needed"
done
export BIN

in_cluster() { "$testbed/kcluster.sh" run "$cluster" "$@"; }
k() { in_cluster kubectl "$@"; }

clean_up() {
  [[ -z ${dns_pid:-} ]] || kill "$dns_pid" 2>/dev/null || true
  [[ ! -e $cluster/vars ]] || "$testbed/kcluster.sh" down "$cluster" || true
  if [[ -n ${KEEP:-} ]]; then say "kept: $work"; else rm -rf "$work"; fi
}
trap clean_up EXIT
trap 'exit 130' INT TERM

passed() { printf 'PASS %s\n' "$*"; }
broken() {
  printf 'FAIL %s\n' "$*"
  failed=1
}
check() {  # check TEXT COMMAND...
  local text=$1
  shift
  if "$@" >"$work/check.log" 2>&1; then
    passed "$text"
  else
    broken "$text"
    tail -n 20 "$work/check.log"
  fi
}
# until_ SECONDS COMMAND...: repeats COMMAND until it succeeds; fails after the time.
until_() {
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < end)) || return 1
    sleep 0.5
  done
}

# render NAME FLAGS...: writes the manifests of the run NAME to $work/NAME. FLAGS are
# for `gandem launch`. USE_IMAGE names another image, which nodes try to pull.
render() {
  local name=$1 pull=Never
  shift
  [[ -z ${USE_IMAGE:-} ]] || pull=IfNotPresent
  HOME=$work "$gandem" launch kubernetes "$source_dir/recipes/mlp_smoke.textproto" \
    --name "$name" --image "${USE_IMAGE:-$image}" --pvc shared --dry_run -o "$work/$name" \
    --set 'data.idx_images="/gandem/data/images.gz"' \
    --set 'data.idx_labels="/gandem/data/labels.gz"' "$@" >/dev/null || return 1
  # Adapts the manifests to this cluster: Kubernetes 1.20 lacks policy/v1, and there
  # is no CoreDNS and no registry. The lower CPU requests let one node run all pods
  # while the other node is gone.
  sed -i 's,policy/v1$,policy/v1beta1,' "$work/$name/disruption_budget.yaml"
  sed -i -e 's,^      restartPolicy: OnFailure,&\n      dnsPolicy: None\n      dnsConfig: {nameservers: [10.77.1.1]\, searches: [default.svc.cluster.local]\, options: [{name: ndots\, value: "5"}]},' \
    -e 's,^\( *cpu:\) 1$,\1 250m,' \
    -e 's,^          image: .*,&\n          imagePullPolicy: '"$pull," \
    "$work/$name"/{coordinator,generators,discriminators}.yaml
}
start() {  # start NAME FLAGS...
  render "$@" && k apply -k "$work/$1" >"$work/$1.apply" 2>&1
}
stop() { k delete --wait=true --timeout=120s -k "$work/$1" >/dev/null 2>&1; }
# stop_all NAME: stops the run and checks that no object remains.
stop_all() {
  stop "$1"
  check "$1: kubectl delete -k leaves nothing in the cluster" \
    until_ 120 nothing_of "$1"
}
nothing_of() {
  local left kinds=jobs,pods,services,configmaps
  kinds+=,networkpolicies,poddisruptionbudgets
  left=$(k get "$kinds" -l "gandem/run=$1" -o name) || return
  [[ -z $left ]]
}
job_done() { k wait --for=condition=complete --timeout=1s "job/$1"; }
rounds() {  # rounds RUN
  tail -n 1 "$volume/runs/$1/metrics.jsonl" 2>/dev/null |
    sed -nE 's/.*"round": ?"?([0-9]+).*/\1/p'
}
beyond() { local now; now=$(rounds "$1"); ((${now:-0} > $2)); }
start_long() {  # start_long NAME FLAGS...
  check "$1: a long run starts" start "$@" --set rounds=1000000
  check "$1: it trains" until_ 300 beyond "$1" 20
}
newest_checkpoint() {
  find "$volume/runs/$1/checkpoints" -maxdepth 1 -name 'step-*[0-9]' | sort |
    tail -n 1
}
pod_of() { k get pods -l "gandem/pod=$1" --field-selector=status.phase=Running \
  -o name | head -n 1; }

set_up() {
  mkdir -p "$volume/data" "$work/img"
  cp /usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz \
    "$volume/data/images.gz"
  cp /usr/share/datasets/fashion-mnist/train-labels-idx1-ubyte.gz \
    "$volume/data/labels.gz"
  chown -R 10001:10001 "$volume"
  chmod 755 "$work"
  "$testbed/mkimg.sh" "$work/img" >/dev/null
  IMAGES="$work/img/pause.tar $IMAGE_TAR" WAIT=1200 \
    "$testbed/kcluster.sh" up "$cluster" 2 || die "the cluster has not come up"
  # Does not use in_cluster, with which $! would be another process.
  "$testbed/kcluster.sh" run "$cluster" python3 \
    "$source_dir/tests/deploy/kubernetes/cluster_dns.py" 10.77.1.1 &
  dns_pid=$!
  k apply -f - >/dev/null <<EOF
apiVersion: v1
kind: PersistentVolume
metadata: {name: shared}
spec:
  capacity: {storage: 50Gi}
  accessModes: [ReadWriteMany]
  storageClassName: ""
  hostPath: {path: $volume}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: shared}
spec:
  accessModes: [ReadWriteMany]
  storageClassName: ""
  resources: {requests: {storage: 50Gi}}
EOF
}

try_validate() {
  render strict --metrics_port 9400
  check "strict: the server takes every field of the manifests" \
    k apply --dry-run=server --validate=true -k "$work/strict"
  sed -i 's/terminationGracePeriodSeconds/terminationGraceSeconds/' \
    "$work/strict/coordinator.yaml"
  check "strict: the server refuses an unknown field" \
    not k apply --dry-run=server --validate=true -k "$work/strict"
}
not() { ! "$@"; }

# Case: two pods on two nodes compute the same bits as a run on this machine.
try_train() {
  check "train: the server accepts the manifests" start train --set rounds=200
  until_ 300 job_done train-coordinator ||
    k get pods -o wide -l gandem/run=train
  check "train: the coordinator's Job is complete" job_done train-coordinator
  check "train: pods were on both nodes" both_nodes train
  check "train: the workers' Jobs end by themselves" \
    until_ 60 job_done train-generator-0
  HOME=$work "$gandem" train "$source_dir/recipes/mlp_smoke.textproto" \
    --run_dir "$work/here" --set rounds=200 \
    --set "data.idx_images=\"$volume/data/images.gz\"" \
    --set "data.idx_labels=\"$volume/data/labels.gz\"" >"$work/here.log" 2>&1
  check "train: the bits equal those of a run without Kubernetes" same_bits
  stop train
}
both_nodes() {
  [[ $(k get pods -l "gandem/run=$1" -o \
    'jsonpath={range .items[*]}{.spec.nodeName}{"\n"}{end}' | sort -u |
    wc -l) == 2 ]]
}
same_bits() {
  local file
  for file in generator-0 discriminator-0; do
    cmp "$(newest_checkpoint train)/$file.safetensors" \
      "$work/here/checkpoints/step-000000200/$file.safetensors"
  done
}

# Case: kubectl delete pod for each pod in turn, in a long run.
try_delete() {
  local pod old before
  start_long delete
  for pod in generator-0 discriminator-0 coordinator; do
    old=$(pod_of "delete-$pod") SECONDS=0
    k delete --wait=false "$old" >/dev/null
    check "delete: the deleted $pod ends" until_ 180 not k get "$old"
    before=$(rounds delete)
    check "delete: the run continues without it" until_ 180 beyond_from delete "$before"
    printf '     %d s until new rounds\n' "$SECONDS"
  done
  stop_all delete
  before=$(rounds delete)
  check "delete: kubectl delete -k leaves a checkpoint of the last rounds" \
    near "$before"
}
beyond_from() { beyond "$1" $(($2 + 20)); }
near() {
  local step
  step=$(basename "$(newest_checkpoint delete)")
  step=$((10#${step#step-}))
  echo "checkpoint $step, round $1"
  ((step >= $1 - 5))
}

# Case: a node loses power.
try_node() {
  lose_node_of discriminator-0
  lose_node_of coordinator
}
# lose_node_of POD: cuts the power of that pod's node.
lose_node_of() {
  local node before run=node-of-$1
  start_long "$run"
  node=$(k get "$(pod_of "$run-$1")" -o 'jsonpath={.spec.nodeName}')
  SECONDS=0
  "$testbed/kcluster.sh" kill "$cluster" "$node"
  sleep 1  # for messages in flight
  before=$(rounds "$run")
  check "$run: continues without $node" until_ 300 beyond_from "$run" "$before"
  printf '     %d s until new rounds\n' "$SECONDS"
  IMAGES="$work/img/pause.tar $IMAGE_TAR" \
    "$testbed/kcluster.sh" start "$cluster" "$node"
  check "$run: $node is back" until_ 120 node_is_ready "$node"
  stop "$run"
}
node_is_ready() {
  k wait --for=condition=ready --timeout=1s "node/$1" &&
    [[ -z $(k get node "$1" -o 'jsonpath={.spec.taints}') ]]
}

# Case: all pods of a node are evicted, as for an upgrade of the node.
try_drain() {
  local node before
  start_long drain
  node=$(k get "$(pod_of drain-generator-0)" -o 'jsonpath={.spec.nodeName}')
  SECONDS=0
  check "drain: kubectl drain $node ends" k drain "$node" \
    --pod-selector=gandem/run=drain --delete-emptydir-data --timeout=240s
  before=$(rounds drain)
  check "drain: the run continues on the other node" until_ 180 beyond_from drain "$before"
  check "drain: no pod of the run is on $node" not on_node drain "$node"
  printf '     %d s until new rounds\n' "$SECONDS"
  k uncordon "$node" >/dev/null
  stop drain
}
on_node() {
  k get pods -l "gandem/run=$1" --field-selector=status.phase=Running \
    -o 'jsonpath={range .items[*]}{.spec.nodeName}{"\n"}{end}' | grep -qx "$2"
}

# Case: the number of discriminators changes: 2 -> 1 -> 2 -> 1.
try_elastic() {
  start_long elastic --set discriminator.workers=2 \
    --set schedule.consistency=BOUNDED \
    --set control.heartbeat_timeout_seconds=5 --set control.grace_seconds=5
  scale_elastic 0 '1 of 2'
  scale_elastic 1 '2 of 2'
  scale_elastic 0 '1 of 2'
  stop elastic
}
# scale_elastic 0|1 TEXT: sets the number of pods of the second discriminator,
# and waits until the log has TEXT about the fleet again.
scale_elastic() {
  local lines before
  lines=$(lines_with elastic "$2") SECONDS=0
  k patch job elastic-discriminator-1 \
    -p "{\"spec\":{\"parallelism\":$1}}" >/dev/null
  check "elastic: the log says $2" \
    until_ 120 more_lines_with elastic "$2" "$lines"
  before=$(rounds elastic)
  check "elastic: the run continues" until_ 60 beyond_from elastic "$before"
  printf '     %d s until new rounds\n' "$SECONDS"
}
lines_with() { grep -c "$2 workers" "$volume/runs/$1/logs/gandem.log"; }
more_lines_with() { (($(lines_with "$1" "$2") > $3)); }

try_image() {
  USE_IMAGE=localhost/none:1 check "image: a run with a missing image starts" start image
  check "image: the pods report that it cannot be pulled" \
    until_ 60 image_is_missed
  k get pods -l gandem/run=image
  stop_all image
}
image_is_missed() {
  k get pods -l gandem/run=image | grep -qE 'ErrImagePull|ImagePullBackOff'
}

# Case: connections between pods use the run's certificate on the volume.
try_tls() {
  local own=$volume/runs/tls/state/certificates.pem
  check "tls: the server accepts the manifests" start tls --set rounds=20000
  check "tls: it trains" until_ 300 beyond tls 20
  check "tls: the coordinator accepts the run's certificate" \
    greets "$own" -cert "$own" -key "$own"
  check "tls: the coordinator refuses a client without certificate" not greets "$own"
  until_ 600 job_done tls-coordinator
  check "tls: the coordinator's Job is complete" job_done tls-coordinator
  check "tls: the workers' Jobs end by themselves" \
    until_ 60 job_done tls-generator-0
  stop_all tls
}
# greets AUTHORITY FLAGS...: succeeds if the coordinator completes a TLS handshake.
# With TLS 1.2, the handshake already fails without a client certificate.
greets() {
  local address authority=$1
  shift
  address=$(k get "$(pod_of tls-coordinator)" -o 'jsonpath={.status.podIP}')
  in_cluster openssl s_client -connect "$address:7000" -alpn h2 -tls1_2 \
    -CAfile "$authority" -verify_return_error "$@" </dev/null
}

tests=("$@")
((${#tests[@]} > 0)) ||
  tests=(validate train tls delete drain node elastic image)
set +e
set_up
for name in "${tests[@]}"; do
  "try_$name" || broken "$name ended early"
done
exit "$failed"
