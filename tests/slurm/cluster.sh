# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash disable=SC2154 # live.sh sets base, dir, port and nss_wrapper
# Sourced by live.sh: writes the configuration of a Slurm with eight nodes of eight GPUs on this machine, starts its
# daemons on loopback, and stops them. All files are below the folder $base: sockets, keys, the database, spool folders.
# The users are those of $base/passwd, which only these processes read (nss_wrapper). Each process has the environment
# variable HEADROOM_SLURM_LIVE=$base, by which stop_all finds it.

nodes=8
gpus=8

# ---- What all clusters share: munge and MariaDB ---------------------------------------------------------------

write_users() {
  local i
  grep -E '^(root|nobody):' /etc/passwd >"$base/passwd"
  grep -E '^(root|nogroup):' /etc/group >"$base/group"
  for i in 1 2 3 4 5 6; do
    echo "u$i:x:$((61000 + i)):$((61000 + i))::/:/bin/sh" >>"$base/passwd"
    echo "u$i:x:$((61000 + i)):" >>"$base/group"
  done
}

# Sets `wrapped`, the beginning of each command, which sets the environment with the users of this run.
set_wrapped() {
  wrapped=(env "LD_PRELOAD=$nss_wrapper" "NSS_WRAPPER_PASSWD=$base/passwd" "NSS_WRAPPER_GROUP=$base/group"
    "HEADROOM_SLURM_LIVE=$base")
}

# daemon LOG COMMAND...: starts a process in the background.
daemon() {
  local log=$1
  shift
  "${wrapped[@]}" "$@" >>"$log" 2>&1 </dev/null &
}

# wait_for SECONDS COMMAND...: waits until the command succeeds, at most SECONDS.
wait_for() {
  local left=$((5 * $1))
  shift
  until "$@" >/dev/null 2>&1; do
    left=$((left - 1))
    [ "$left" -gt 0 ] || fail "timeout while waiting for: $*"
    sleep 0.2
  done
}

start_shared() {
  mkdir -p "$base/munge" "$base/mariadb"
  write_users
  head -c 1024 /dev/urandom >"$base/munge/key"
  chmod 600 "$base/munge/key"
  daemon "$base/munge/out" munged --foreground --force --socket "$base/munge/socket" --key-file "$base/munge/key" \
    --pid-file "$base/munge/pid" --log-file "$base/munge/log" --seed-file "$base/munge/seed"
  mariadb-install-db --no-defaults --datadir="$base/mariadb/data" --user=root --auth-root-authentication-method=normal \
    --skip-test-db >"$base/mariadb/install.log" 2>&1
  daemon "$base/mariadb/out" mariadbd --no-defaults --datadir="$base/mariadb/data" --socket="$base/mariadb/socket" \
    --pid-file="$base/mariadb/pid" --bind-address=127.0.0.1 --port="$port" --user=root \
    --innodb-buffer-pool-size=64M --innodb-flush-log-at-trx-commit=0
  wait_for 60 sql 'SELECT 1'
  sql "CREATE USER 'slurm'@'127.0.0.1' IDENTIFIED BY 'slurm'; GRANT ALL ON *.* TO 'slurm'@'127.0.0.1'"
  wait_for 20 munge --no-input --socket "$base/munge/socket"
}

sql() {
  mariadb --no-defaults --socket="$base/mariadb/socket" --user=root --execute="$1"
}

# ---- Configuration --------------------------------------------------------------------------------------------

# settings KIND: prints the part of slurm.conf that differs between the configurations.
settings() {
  case $1 in
    fifo) echo 'PriorityType=priority/basic' ;;
    multifactor)
      cat <<'CONF'
PriorityType=priority/multifactor
PriorityDecayHalfLife=00:10:00
PriorityCalcPeriod=00:01:00
PriorityMaxAge=00:20:00
PriorityWeightAge=1000
PriorityWeightFairshare=10000
PriorityWeightJobSize=500
PriorityWeightQOS=2000
CONF
      ;;
    qos)
      cat <<'CONF'
PriorityType=priority/multifactor
PriorityWeightQOS=1000
PreemptType=preempt/qos
PreemptMode=REQUEUE
CONF
      ;;
  esac
}

# write_conf KIND FIRST_PORT: slurm.conf, gres.conf and slurmdbd.conf of the cluster in $dir. Uses 2 + $nodes ports.
write_conf() {
  local i
  mkdir -p "$dir/state" "$dir/devices"
  for ((i = 0; i < gpus; i++)); do mknod "$dir/devices/gpu$i" c 1 3; done # like /dev/null: nothing opens them
  cat >"$dir/slurm.conf" <<CONF
ClusterName=headroom
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=$2
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$base/munge/socket
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd-%n.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd-%n.log
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool-%n
SlurmctldDebug=verbose
SlurmdDebug=error
LogTimeFormat=iso8601_ms
DebugFlags=Priority
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
ReturnToService=2
SlurmdParameters=config_overrides
KillWait=1
MinJobAge=10000
SlurmctldTimeout=60
SlurmdTimeout=300
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=$(($2 + 1))
AccountingStoragePass=$base/munge/socket
AccountingStorageTRES=gres/gpu,gres/gpu:a100
AccountingStorageEnforce=associations,qos
JobRequeue=1
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,bf_resolution=1,bf_continue,bf_max_job_test=1000,default_queue_depth=1000,sched_interval=1,sched_min_interval=0,batch_sched_delay=0,bf_window=1440
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
$(settings "$1")
GresTypes=gpu
CONF
  for ((i = 1; i <= nodes; i++)); do
    echo "NodeName=n$i NodeHostname=localhost NodeAddr=127.0.0.1 Port=$(($2 + 1 + i)) CPUs=64 RealMemory=512000" \
      "Gres=gpu:a100:$gpus State=UNKNOWN"
  done >>"$dir/slurm.conf"
  local billing=
  [ "$1" != multifactor ] || billing=' TRESBillingWeights=GRES/gpu=1'
  echo "PartitionName=gpu Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO$billing" >>"$dir/slurm.conf"
  echo "NodeName=n[1-$nodes] Name=gpu Type=a100 File=$dir/devices/gpu[0-$((gpus - 1))]" >"$dir/gres.conf"
  cat >"$dir/slurmdbd.conf" <<CONF
AuthType=auth/munge
AuthInfo=socket=$base/munge/socket
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort=$(($2 + 1))
SlurmUser=root
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=$port
StorageUser=slurm
StoragePass=slurm
StorageLoc=slurm_$2
LogFile=$dir/slurmdbd.log
PidFile=$dir/slurmdbd.pid
CONF
  chmod 600 "$dir/slurmdbd.conf"
}

# ---- Accounts -------------------------------------------------------------------------------------------------

# manage ARGUMENT...: runs sacctmgr without questions.
manage() {
  on_cluster sacctmgr -i -Q "$@" >>"$dir/sacctmgr.log" 2>&1 || fail "sacctmgr $*: $(tail -n 3 "$dir/sacctmgr.log")"
}

# account NAME PARENT SHARES, user NAME ACCOUNT SHARES
account() {
  manage add account "$1" cluster=headroom parent="$2" fairshare="$3" description="$1" organization="$1"
}

user() {
  manage add user "$1" cluster=headroom account="$2" fairshare="$3"
}

create_accounts() {
  manage add cluster headroom
  account teama root 50
  account teamb root 30
  case $1 in
    multifactor)
      account teamb2 teamb 20
      account teamc root 20
      user u5 teamb2 10
      user u6 teamc 10
      manage add qos fast priority=100
      ;;
    qos)
      manage add qos low priority=1
      manage modify qos normal set priority=10 preempt=low
      manage add qos high priority=100 preempt=low,normal
      ;;
  esac
  user u1 teama 30
  user u2 teama 10
  user u3 teamb 10
  user u4 teamb 10
  case $1 in
    multifactor) manage modify account where cluster=headroom name=root set qos=normal,fast ;;
    qos) manage modify account where cluster=headroom name=root set qos=low,normal,high ;;
  esac
}

# ---- Daemons --------------------------------------------------------------------------------------------------

# on_cluster COMMAND...: runs a Slurm command on the cluster in $dir.
on_cluster() {
  "${wrapped[@]}" SLURM_CONF="$dir/slurm.conf" "$@"
}

nodes_are_idle() {
  [ "$(on_cluster sinfo -h -N -o %T | grep -c '^idle$')" -eq "$nodes" ]
}

database_is_up() {
  on_cluster sacctmgr -n show cluster
}

# start_cluster KIND FIRST_PORT
start_cluster() {
  local i
  mkdir -p "$dir"
  write_conf "$1" "$2"
  daemon "$dir/slurmdbd.out" SLURM_CONF="$dir/slurmdbd.conf" slurmdbd -D
  wait_for 120 database_is_up
  create_accounts "$1"
  daemon "$dir/slurmctld.out" slurmctld -D -f "$dir/slurm.conf"
  wait_for 60 on_cluster scontrol ping
  for ((i = 1; i <= nodes; i++)); do
    mkdir -p "$dir/spool-n$i"
    daemon "$dir/slurmd.out" slurmd -D -N "n$i" -f "$dir/slurm.conf"
  done
  wait_for 120 nodes_are_idle
}

# ours: prints the ids of all processes of this run, except this script.
ours() {
  { grep -lzxF "HEADROOM_SLURM_LIVE=$base" /proc/[0-9]*/environ 2>/dev/null || :; } | cut -d/ -f3
}

# stop_all: ends every process of this run, first with SIGTERM, then with SIGKILL.
stop_all() {
  local ids signal
  for signal in TERM TERM KILL; do
    ids=$(ours)
    [ -n "$ids" ] || return 0
    # shellcheck disable=SC2086 # a list of numbers
    kill -"$signal" $ids 2>/dev/null || :
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
      sleep 0.2
      [ -n "$(ours)" ] || return 0
    done
  done
}
