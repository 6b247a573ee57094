#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Real multi-node Slurm on one machine.
#   slurm_cluster.sh up DIR [N=3] [netns|multi]  |  down DIR  |  run DIR CMD...   client command where slurmctld is reachable
#   slurm_cluster.sh kill DIR n2   every process of the node dies (the kernel closes its sockets: peers see EOF or RST)
#   slurm_cluster.sh off DIR n2    power loss: link cut, then kill (peers see silence)      [netns]
#   slurm_cluster.sh start DIR n2  the node returns (link up)      |  slurmd DIR n2 SIGNAL   signal only the node's slurmd
#   slurm_cluster.sh slurmctld DIR   slurmctld is stopped and started again; jobs stay
#   slurm_cluster.sh cut DIR n2    network partition, processes live on [netns]  |  heal DIR n2
#   slurm_cluster.sh exec DIR n2 CMD...   a command inside the node's network namespace [netns]
#   slurm_cluster.sh mounts DIR n2 CMD...   a command that sees the node's mounts, and may change them
#   slurm_cluster.sh pids DIR n2   pids, as the host counts, of all that runs on the node [netns]
# netns: each slurmd in its own net+uts+pid+mnt namespace (hostname n2, address 10.77.0.12; the host gets no address).
# multi: `slurmd -N` on loopback ports, pid+mnt namespaces only. In both, n1..nN resolve through a private /etc/hosts
# (bound over /etc/hosts, which must exist).
# env: CPUS=8 GPUS=2 GPU_FILES (default: dummy character devices; real ones: '/dev/nvidia[0-1]') CRED_EXPIRE=5 SLURMD_TIMEOUT=6 EXTRA_CONF (lines for slurm.conf)
# shellcheck disable=SC2046,SC2086  # pids and names are words without spaces
set -u
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:$PATH
die() { echo "$*" >&2; exit 1; }
now_ms() { echo $(( $(date +%s%N) / 1000000 )); }
uniq_id() { od -An -N3 -tx1 /dev/urandom | tr -d ' \n'; } # for namespace names: pids wrap at 32768 on small machines
need() { # need CMD:PKG ... : apt-get installs the packages whose command (or absolute path) is missing
  local x c miss=
  for x; do c=${x%%:*}; case $c in /*) [ -e "$c" ];; *) command -v "$c" >/dev/null;; esac || miss="$miss ${x#*:}"; done
  [ -n "$miss" ] || return 0
  ( p=/usr/sbin/policy-rc.d # the packages' own daemons must not start
    [ -e $p ] || { trap 'rm -f "$p"' EXIT; printf '#!/bin/sh\nexit 101\n' > $p; chmod 755 $p; }
    export DEBIAN_FRONTEND=noninteractive; a="apt-get -qq -o DPkg::Lock::Timeout=300"
    # shellcheck disable=SC2086
    $a install -y --no-install-recommends $miss >/dev/null 2>&1 || { $a update >/dev/null; $a install -y --no-install-recommends $miss >/dev/null; }
  ) || die "apt-get install$miss: failed"; }
starttime() { local s; s=$(cat /proc/$1/stat 2>/dev/null) || return 1; s=${s##*) }; [ "${s%% *}" != Z ] && echo "$s" | cut -d' ' -f20; }
adopt() { mkdir -p $D/pid; echo "$2 $(starttime $2)" > $D/pid/$1; } # adopt NAME PID
spawn() { local n=$1; shift; mkdir -p $D/log; setsid "$@" >>$D/log/$n.out 2>&1 </dev/null & adopt $n $!; disown; } # spawn NAME CMD...
pid_of() { local p s; read -r p s 2>/dev/null < $D/pid/$1 && [ -n "$s" ] && [ "$(starttime $p)" = "$s" ] && echo $p; }
stop() { # stop NAME [SIGNAL=TERM] [SECONDS=8]: signal, wait, then KILL
  local p; if p=$(pid_of $1); then kill -${2:-TERM} $p 2>/dev/null
    for _ in $(seq $((${3:-8} * 10))); do pid_of $1 >/dev/null || break; sleep .1; done
    pid_of $1 >/dev/null && { kill -KILL $p 2>/dev/null; sleep .2; }; fi; rm -f $D/pid/$1; }
children() { cat /proc/$1/task/$1/children 2>/dev/null || ps -o pid= --ppid $1; }
stop_ns() { # stop_ns NAME: NAME is an `unshare --pid --fork`; kills its init, which makes the kernel kill all that is inside
  local p; if p=$(pid_of $1); then kill -KILL $(children $p) 2>/dev/null || kill -KILL $p 2>/dev/null
    for _ in $(seq 100); do pid_of $1 >/dev/null || break; sleep .05; done; fi; rm -f $D/pid/$1; }
free_ports() { # free_ports N: first of N consecutive TCP ports below the ephemeral range on which nothing listens
  local b i; for _ in $(seq 50); do b=$((20000 + RANDOM % 10000)); for i in $(seq 0 $(($1 - 1))); do
    (exec 3<>/dev/tcp/127.0.0.1/$((b + i))) 2>/dev/null && continue 2; done; echo $b; return; done; die "no free ports"; }

cmd=${1:?}; D=$(realpath -m "${2:?DIR}"); shift 2
[ "$cmd" = up ] || [ -e $D/vars ] || die "$D: no cluster"
[ -e $D/vars ] && . $D/vars
export SLURM_CONF=$D/slurm.conf
hosts='[ ! -e /etc/hosts ] || mount --bind "$0" /etc/hosts; exec "$@"' # ip netns exec and unshare -m give a private mount namespace
ctl() { if [ $MODE = netns ]; then ip netns exec $P-ctl sh -c "$hosts" $D/hosts "$@"; else unshare -m sh -c "$hosts" $D/hosts "$@"; fi; }
start_node() { local n=$1 ns='' uts='' # own pid namespace: killing its init kills slurmd, stepds and ranks at once
  [ $MODE = netns ] && { ns="ip netns exec $P-$n"; uts=--uts; ip -n $P-ctl link set v-$n up; }
  spawn $n $ns unshare $uts --pid --mount-proc --fork --kill-child sh -c "[ ! -e /etc/hosts ] || mount --bind $D/hosts /etc/hosts; [ -z '$uts' ] || hostname $n; exec slurmd -D -N $n -f $D/slurm.conf"; }
start_ctld() { # start_ctld [-c]: -c forgets all jobs
  if [ $MODE = netns ]; then spawn slurmctld ip netns exec $P-ctl slurmctld -D "$@" -f $D/slurm.conf; else spawn slurmctld slurmctld -D "$@" -f $D/slurm.conf; fi; }
down() { ctl timeout 10 scancel -u root --signal=KILL >/dev/null 2>&1; sleep .2
  local n; for n in $NODES; do stop_ns $n; done; stop slurmctld; stop munged
  [ $MODE = netns ] && for n in $NODES ctl; do ip netns del $P-$n 2>/dev/null; done; rm -f $D/vars; }
case $cmd in
run) if [ $MODE = netns ]; then exec ip netns exec $P-ctl sh -c "$hosts" $D/hosts "$@"; else exec unshare -m sh -c "$hosts" $D/hosts "$@"; fi;;
exec) n=$1; shift; exec ip netns exec $P-$n sh -c "$hosts" $D/hosts "$@";;
mounts) n=$1; shift; p=$(pid_of $n) || die "$n is off"; exec nsenter --target=$(children $p) --mount "$@";;
pids) exec ip netns pids $P-$1;;
kill) stop_ns $1; exit;;
off) ip -n $P-ctl link set v-$1 down; stop_ns $1; exit;;
start) start_node $1; exit;;
slurmctld) stop slurmctld; start_ctld; exit;;
slurmd) p=$(pid_of $1) && kill -$2 $(children $p); exit;;
cut) ip -n $P-ctl link set v-$1 down; exit;;
heal) ip -n $P-ctl link set v-$1 up; exit;;
down) down; exit 0;;
up) ;; *) die "unknown command $cmd";; esac
[ -e $D/vars ] && die "$D: already up"
need slurmctld:slurmctld slurmd:slurmd srun:slurm-client munged:munge ip:iproute2 hostname:hostname ps:procps mount:mount
N=${1:-3}; MODE=${2:-netns}; t0=$(now_ms); P=sl$(uniq_id); NODES=$(seq -s' ' -f n%g $N); H=$(hostname -s); GPUS=${GPUS:-2}
mkdir -p $D/{state,spool,munge,sock,log,pid,dev}; chmod 755 $D $D/sock; chmod 700 $D/munge
printf 'N=%s MODE=%s P=%s NODES="%s"\n' $N $MODE $P "$NODES" > $D/vars
trap '[ -n "${OK-}" ] || { tail -n5 $D/log/*; down; }' EXIT
if [ $MODE = netns ]; then CA=10.77.0.1 PORT=16817
  ip netns add $P-ctl; ip -n $P-ctl link set lo up
  ip -n $P-ctl link add br0 type bridge; ip -n $P-ctl link set br0 up; ip -n $P-ctl addr add $CA/24 dev br0
  for i in $(seq $N); do ip netns add $P-n$i; ip -n $P-n$i link set lo up
    ip -n $P-ctl link add v-n$i type veth peer name eth0 netns $P-n$i; ip -n $P-ctl link set v-n$i master br0 up
    ip -n $P-n$i addr add 10.77.0.$((10 + i))/24 dev eth0; ip -n $P-n$i link set eth0 up; done
else CA=127.0.0.1; PORT=$(free_ports $((N + 1))); fi
{ printf '127.0.0.1 localhost\n%s %s ctl\n' $CA $H; for i in $(seq $N); do [ $MODE = netns ] && echo "10.77.0.$((10 + i)) n$i" || echo "127.0.0.1 n$i"; done; } > $D/hosts
head -c 128 /dev/urandom > $D/munge/key; chmod 400 $D/munge/key
spawn munged munged -F --key-file=$D/munge/key --socket=$D/sock/munge.sock --pid-file=$D/munged.pid --log-file=$D/munge/log --seed-file=$D/munge/seed --force
{ cat <<C
ClusterName=t$$
SlurmctldHost=$H($CA)
SlurmctldPort=$PORT
AuthType=auth/munge
AuthInfo=socket=$D/sock/munge.sock,cred_expire=${CRED_EXPIRE:-5}
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$D/state
SlurmdSpoolDir=$D/spool/%n
SlurmctldPidFile=$D/slurmctld.pid
SlurmdPidFile=$D/slurmd-%n.pid
SlurmctldLogFile=$D/log/slurmctld.log
SlurmdLogFile=$D/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc=$D/log/jobcomp.txt
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_min_interval=0,batch_sched_delay=0
SlurmdParameters=config_overrides
GresTypes=gpu
ReturnToService=2
JobRequeue=1
KillWait=5
SlurmctldTimeout=10
SlurmdTimeout=${SLURMD_TIMEOUT:-6}
MessageTimeout=5
TreeWidth=100
${EXTRA_CONF-}
C
for i in $(seq $N); do
  if [ $MODE = netns ]; then a="NodeAddr=10.77.0.$((10 + i)) Port=16818"; else a="NodeHostname=$H NodeAddr=127.0.0.1 Port=$((PORT + i))"; fi
  echo "NodeName=n$i $a CPUs=${CPUS:-8} RealMemory=4000 Gres=gpu:$GPUS State=UNKNOWN"; done
echo "PartitionName=main Nodes=ALL Default=YES MaxTime=60 State=UP"; } > $D/slurm.conf
[ -n "${GPU_FILES-}" ] || { for i in $(seq 0 $((GPUS - 1))); do mknod $D/dev/gpu$i c 1 3; done; GPU_FILES="$D/dev/gpu[0-$((GPUS - 1))]"; }
printf 'AutoDetect=off\nName=gpu File=%s\n' "$GPU_FILES" > $D/gres.conf
printf 'CgroupPlugin=cgroup/v1\n' > $D/cgroup.conf
for _ in $(seq 100); do [ -S $D/sock/munge.sock ] && break; sleep .05; done
start_ctld -c
for n in $NODES; do start_node $n; done
for _ in $(seq ${WAIT:-600}); do [ "$(ctl timeout 3 sinfo -h -N -o %T 2>/dev/null | grep -cx idle)" = $N ] && { OK=1; break; }; sleep .1; done
[ -n "${OK-}" ] || die "nodes not idle"
echo "up $N nodes ($MODE) in $(($(now_ms) - t0)) ms"
