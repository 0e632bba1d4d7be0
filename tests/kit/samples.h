/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_KIT_SAMPLES_H
#define HR_TESTS_KIT_SAMPLES_H

/* Small traces in each format that can be imported, written by hand from the published schemas. They contain no real
   data. */

#define HELIOS_HEADER "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
#define HELIOS_SAMPLE                                                                                                  \
  HELIOS_HEADER                                                                                                        \
  "11,uann,vcA,16,64,2,COMPLETED,2020-06-09 10:00:00,2020-06-09 10:00:30,2020-06-09 11:00:30,3600,30\n"                \
  "12,ubob,vcB,0,4,1,FAILED,2020-06-09 10:00:10,2020-06-09 10:00:10,2020-06-09 10:01:00,50,0\n"                        \
  "13,ubob,vcB,3,6,2,TIMEOUT,2020-06-09 10:00:20,2020-06-09 10:00:20,2020-06-09 10:02:00,100,0\n"                      \
  "14,uann,vcA,1,1,1,CANCELLED,2020-06-09 10:00:25,None,2020-06-09 10:02:00,0,0\n"                                     \
  "15,uann,vcA,1,1,1,RUNNING,2020-06-09 10:00:26,2020-06-09 10:00:26,None,0,0\n"

#define SEREN_HEADER                                                                                                   \
  "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,queue,gpu_time\n"
#define SEREN_SAMPLE                                                                                                   \
  SEREN_HEADER                                                                                                         \
  "21,u1,2,16,256,Pretrain,COMPLETED,2023-03-01 00:00:00+08:00,2023-03-01 00:01:00+08:00,2023-03-01 01:01:00+08:00,"   \
  "3600,60,57600.0\n"                                                                                                  \
  "22,u2,1,1,16,Evaluation,FAILED,2023-02-28 16:00:30+00:00,2023-02-28 16:00:30+00:00,2023-02-28 16:02:30+00:00,120,"  \
  "0,120.0\n"                                                                                                          \
  "23,u2,1,0,4,Other,CANCELLED,2023-03-01 00:02:00+08:00,2023-03-01 00:02:00+08:00,2023-03-01 00:02:09+08:00,9,0,0\n"
#define KALOS_SAMPLE                                                                                                   \
  "job_id,user,node_num,gpu_num,cpu_num,mem_per_pod_GB,shared_mem_per_pod,type,state,submit_time,start_time,end_time," \
  "fail_time,stop_time,duration,queue,gpu_time\n"                                                                      \
  "dlcx,uf7,8,64,960,1000,100.0,SFT,FAILED,2023-05-17 11:00:58+00:00,2023-05-17 11:01:08+00:00,"                       \
  "2023-05-17 11:01:16+00:00,2023-05-17 11:01:16+00:00,,18,10.0,1152.0\n"

#define PAI_SAMPLE                                                                                                     \
  "j1,tensorflow,1.0,Terminated,1000.0,1600.0,600.0,29.296875,50.0,MISC\n"                                             \
  "j2,worker,4.0,Failed,1100.0,1100.0,800.0,16.0,200.0,V100\n"                                                         \
  "j2,ps,2.0,Terminated,1050.0,1200.0,400.0,8.0,,\n"                                                                   \
  "j3,worker,2.0,Terminated,1060.0,1070.0,100.0,1.0,150.0,T4\n"                                                        \
  "j4,worker,1.0,Running,1070.0,,100.0,1.0,25.0,T4\n"                                                                  \
  "j5,worker,1.0,Waiting,,,100.0,1.0,25.0,T4\n"
/* The table of jobs for PAI_SAMPLE, with their submit times. Jobs j1 and j2 are submitted at 990 and 1000.5, before
   their first tasks start at 1000 and 1050. Jobs j3 to j5 are missing, and job j9 has no task in PAI_SAMPLE. */
#define PAI_JOBS                                                                                                       \
  "j1,i1,ann,Terminated,990.0,1600.0\n"                                                                                \
  "j2,i2,bob,Failed,1000.5,1200.0\n"                                                                                   \
  "j9,i9,ann,Waiting,,\n"
#define PAI_TAGS                                                                                                       \
  "i2,bob,V100M32,g2,nmt\n"                                                                                            \
  "i7,eve,T4,g7,ctr\n"                                                                                                 \
  "i2,bob,P100,g2,bert\n"                                                                                              \
  "i1,ann,,g1,\n"

#define SPOT_HEADER "job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,submit_time,duration,job_type\n"
#define SPOT_SAMPLE                                                                                                    \
  SPOT_HEADER "7,13,A10,20,1,1,0,5000,HP\n"                                                                            \
              "8,57,A100-SXM4-80GB,15,8,16,60,41060,Spot\n"                                                            \
              "9,57,A10,4,0.5,2,70,600,Spot\n"

#define AZURE_SAMPLE                                                                                                   \
  "TIMESTAMP,ContextTokens,GeneratedTokens\n"                                                                          \
  "2023-11-16 18:17:03.9799600,5000,10\n"                                                                              \
  "2023-11-16 18:17:04.9799600,3,100\n"

#define GAVEL_LINE(type, steps, arrival, scale)                                                                        \
  type "\tpython3 main.py --data=%s\t--num_steps\t1\t" steps "\t" arrival "\t" scale "\n"
#define GAVEL_SAMPLE GAVEL_LINE("Net (batch size 16)", "100", "0.5", "1") GAVEL_LINE("LM", "4000", "2.000000", "2")
#define GAVEL_THROUGHPUTS                                                                                              \
  "{\"v100\": {\"('Net (batch size 16)', 1)\": {\"null\": 4.0, \"('LM', 1)\": [1.0, 2.0]},\n"                          \
  "            \"('LM', 2)\": {\"null\": 10.0}},\n"                                                                    \
  " \"k80\": {\"('Net (batch size 16)', 1)\": {\"null\": 0.5}, \"('LM', 2)\": {\"null\": 2.5}}}\n"

#define SACCT_HEADER                                                                                                   \
  "JobID|JobName|User|Account|State|Submit|Eligible|Start|End|Timelimit|AllocTRES|ReqTRES|NNodes|ReqMem\n"
#define SACCT_SAMPLE                                                                                                   \
  SACCT_HEADER                                                                                                         \
  "100|train \"a\"|ann|vision|COMPLETED|2024-01-02T10:00:00|2024-01-02T10:00:00|2024-01-02T10:05:00|"                  \
  "2024-01-02T12:05:00|1-00:00:00|billing=64,cpu=64,gres/gpu:a100=16,gres/gpu=16,mem=512G,node=2|"                     \
  "billing=64,cpu=64,gres/gpu:a100=16,mem=512G,node=2|2|512G\n"                                                        \
  "100.batch|batch||vision|COMPLETED|2024-01-02T10:05:00|2024-01-02T10:05:00|2024-01-02T10:05:00|2024-01-02T12:05:00|" \
  "|cpu=32,gres/gpu:a100=8,mem=256G,node=1||1|\n"                                                                      \
  "101_4|sweep|bob|speech|CANCELLED by 1000|2024-01-02T10:00:01|2024-01-02T10:00:01|2024-01-02T10:00:02|"              \
  "2024-01-02T10:10:02|UNLIMITED|cpu=8,gres/gpu=1,mem=32G,node=1|cpu=8,gres/gpu=1,mem=32G,node=1|1|32G\n"              \
  "102|held|bob|speech|TIMEOUT|2024-01-02T10:00:02|2024-01-02T11:00:00|2024-01-02T11:00:10|2024-01-02T11:30:10|"       \
  "00:30:00|cpu=4,mem=4G,node=1|cpu=4,mem=4G,node=1|1|4G\n"                                                            \
  "103|gone|bob|speech|CANCELLED by 1000|2024-01-02T10:00:03|2024-01-02T10:00:03|None|2024-01-02T10:00:30|"            \
  "Partition_Limit||cpu=4,gres/gpu=2,mem=4G,node=1|1|4G\n"                                                             \
  "104|wait|bob|speech|PENDING|2024-01-02T10:00:04|Unknown|Unknown|Unknown|01:00:00||cpu=4,mem=4G,node=1|1|4G\n"       \
  "105|live|bob|speech|RUNNING|2024-01-02T10:00:05|2024-01-02T10:00:05|2024-01-02T10:00:06|Unknown|01:00:00|"          \
  "cpu=4,mem=4G,node=1|cpu=4,mem=4G,node=1|1|4G\n"

#define PHILLY_LOG_SAMPLE                                                                                              \
  "[\n"                                                                                                                \
  " {\"status\": \"Pass\", \"vc\": \"ee9e8c\", \"jobid\": \"application_1\", \"attempts\": [\n"                        \
  "   {\"start_time\": \"2017-10-07 01:12:00\", \"end_time\": \"2017-10-07 01:13:00\",\n"                              \
  "    \"detail\": [{\"ip\": \"m1\", \"gpus\": [\"gpu0\", \"gpu1\"]}, {\"ip\": \"m2\", \"gpus\": [\"gpu0\", "          \
  "\"gpu1\"]}]},\n"                                                                                                    \
  "   {\"start_time\": \"2017-10-07 01:20:00\", \"end_time\": \"2017-10-07 02:20:00\",\n"                              \
  "    \"detail\": [{\"ip\": \"m3\", \"gpus\": [\"gpu0\"]}]}],\n"                                                      \
  "  \"submitted_time\": \"2017-10-07 01:11:00\", \"user\": \"ce2f4c\"},\n"                                            \
  " {\"status\": \"Failed\", \"vc\": \"6214e9\", \"jobid\": \"application_2\", \"attempts\": [\n"                      \
  "   {\"start_time\": \"2017-10-07 01:30:00\", \"end_time\": \"2017-10-07 01:40:00\",\n"                              \
  "    \"detail\": [{\"ip\": \"m1\", \"gpus\": [\"gpu0\"]}]},\n"                                                       \
  "   {\"start_time\": \"2017-10-07 01:41:00\", \"end_time\": \"2017-10-07 02:11:00\", \"detail\": []}],\n"            \
  "  \"submitted_time\": \"2017-10-07 01:29:00\", \"user\": \"b\"},\n"                                                 \
  " {\"status\": \"Killed\", \"vc\": \"6214e9\", \"jobid\": \"application_3\", \"attempts\": [],\n"                    \
  "  \"submitted_time\": \"2017-10-07 01:30:00\", \"user\": \"b\"},\n"                                                 \
  " {\"status\": \"Pass\", \"vc\": \"6214e9\", \"jobid\": \"application_4\", \"attempts\": [\n"                        \
  "   {\"start_time\": \"2017-10-07 01:31:00\", \"end_time\": \"None\",\n"                                             \
  "    \"detail\": [{\"ip\": \"m1\", \"gpus\": [\"gpu0\"]}]}],\n"                                                      \
  "  \"submitted_time\": \"2017-10-07 01:31:00\", \"user\": null}\n"                                                   \
  "]\n"

#define BATSIM_SAMPLE                                                                                                  \
  "{\n"                                                                                                                \
  "  \"nb_res\": 4,\n"                                                                                                 \
  "  \"jobs\": [\n"                                                                                                    \
  "    {\"id\": \"w0!1\", \"subtime\": 0, \"walltime\": 30, \"res\": 1, \"profile\": \"nap\"},\n"                      \
  "    {\"id\": 2, \"subtime\": 1.5, \"walltime\": 10, \"res\": 4, \"profile\": \"nap\"},\n"                           \
  "    {\"id\": \"x\", \"subtime\": 2, \"walltime\": -1, \"res\": 2, \"profile\": \"work\"},\n"                        \
  "    {\"id\": \"y\", \"subtime\": 3, \"res\": 4, \"profile\": \"spread\"}\n"                                         \
  "  ],\n"                                                                                                             \
  "  \"profiles\": {\n"                                                                                                \
  "    \"nap\": {\"type\": \"delay\", \"delay\": 20.20},\n"                                                            \
  "    \"work\": {\"type\": \"parallel_homogeneous\", \"cpu\": 1e10, \"com\": 1e6, \"ret\": 1},\n"                     \
  "    \"spread\": {\"type\": \"parallel_homogeneous_total\", \"cpu\": 8e9, \"com\": 0},\n"                            \
  "    \"unused\": {\"type\": \"composed\", \"seq\": [\"nap\"]}\n"                                                     \
  "  }\n"                                                                                                              \
  "}\n"

/* The objects of KUBERNETES_SAMPLE: a Job that Kueue admitted again after an eviction, with its Workload and one of its
   Pods; a Workload of a PyTorchJob that is not in the list; a Pod without an owner; objects that a trace does not need.
   */
#define KUBE_JOB                                                                                                       \
  "{\"kind\": \"Job\",\n"                                                                                              \
  "\"metadata\": {\"name\": \"train\", \"namespace\": \"vision\", \"uid\": \"u-job\",\n"                               \
  "\"creationTimestamp\": \"2026-01-05T10:00:00Z\", \"labels\": {\"kueue.x-k8s.io/queue-name\": \"lq\"}},\n"           \
  "\"spec\": {\"parallelism\": 2, \"completions\": 2, \"activeDeadlineSeconds\": 7200, \"template\": {\"spec\": {\n"   \
  "\"priorityClassName\": \"high\", \"nodeSelector\": {\"nvidia.com/gpu.product\": \"NVIDIA-A100-SXM4-80GB\"},\n"      \
  "\"containers\": [{\"resources\": {\"requests\": {\"cpu\": \"500m\", \"memory\": \"16Gi\"},\n"                       \
  "\"limits\": {\"nvidia.com/gpu\": \"4\"}}}]}}},\n"                                                                   \
  "\"status\": {\"startTime\": \"2026-01-05T10:30:00Z\", \"completionTime\": \"2026-01-05T11:30:00Z\", "               \
  "\"succeeded\": 2,\n"                                                                                                \
  "\"conditions\": [{\"type\": \"Complete\", \"status\": \"True\",\n"                                                  \
  "\"lastTransitionTime\": \"2026-01-05T11:30:00Z\"}]}}"
#define KUBE_WORKLOAD_OF_JOB                                                                                           \
  "{\"apiVersion\": \"kueue.x-k8s.io/v1beta1\", \"kind\": \"Workload\",\n"                                             \
  "\"metadata\": {\"name\": \"job-train\", \"namespace\": \"vision\", \"uid\": \"u-wl\",\n"                            \
  "\"creationTimestamp\": \"2026-01-05T10:00:01Z\",\n"                                                                 \
  "\"ownerReferences\": [{\"uid\": \"u-job\", \"controller\": true}]},\n"                                              \
  "\"spec\": {\"queueName\": \"lq\", \"priority\": 100, \"priorityClassName\": \"high\", \"podSets\": [\n"             \
  "{\"name\": \"main\", \"count\": 2, \"template\": {\"spec\": {\n"                                                    \
  "\"nodeSelector\": {\"nvidia.com/gpu.product\": \"NVIDIA-A100-SXM4-80GB\"},\n"                                       \
  "\"containers\": [{\"resources\": {\"requests\": {\"cpu\": \"500m\", \"memory\": \"16Gi\", \"nvidia.com/gpu\": "     \
  "4}}}]}}}]},\n"                                                                                                      \
  "\"status\": {\"accumulatedPastExexcutionTimeSeconds\": 600, \"requeueState\": {\"count\": 1},\n"                    \
  "\"conditions\": [{\"type\": \"QuotaReserved\", \"status\": \"False\",\n"                                            \
  "\"lastTransitionTime\": \"2026-01-05T11:30:01Z\", \"reason\": \"Finished\"},\n"                                     \
  "{\"type\": \"Evicted\", \"status\": \"False\", \"lastTransitionTime\": \"2026-01-05T10:20:00Z\"},\n"                \
  "{\"type\": \"Finished\", \"status\": \"True\", \"reason\": \"Succeeded\",\n"                                        \
  "\"lastTransitionTime\": \"2026-01-05T11:30:01Z\"}]}}"
#define KUBE_POD_OF_JOB                                                                                                \
  "{\"kind\": \"Pod\",\n"                                                                                              \
  "\"metadata\": {\"name\": \"train-0\", \"namespace\": \"vision\", \"uid\": \"u-pod0\",\n"                            \
  "\"creationTimestamp\": \"2026-01-05T10:30:00Z\", \"ownerReferences\": [{\"uid\": \"u-job\"}]},\n"                   \
  "\"spec\": {\"containers\": [{\"resources\": {\"limits\": {\"nvidia.com/gpu\": \"4\"}}}]},\n"                        \
  "\"status\": {\"phase\": \"Succeeded\"}}"
#define KUBE_WORKLOAD                                                                                                  \
  "{\"apiVersion\": \"kueue.x-k8s.io/v1beta2\", \"kind\": \"Workload\",\n"                                             \
  "\"metadata\": {\"name\": \"pytorchjob-x\", \"namespace\": \"speech\", \"uid\": \"u-wl2\",\n"                        \
  "\"creationTimestamp\": \"2026-01-05T12:00:00+02:00\", \"ownerReferences\": [{\"uid\": \"u-pt\"}]},\n"               \
  "\"spec\": {\"queueName\": \"big\", \"priority\": 5, \"maximumExecutionTimeSeconds\": 3600,\n"                       \
  "\"priorityClassRef\": {\"name\": \"low\"},\n"                                                                       \
  "\"podSets\": [{\"name\": \"launcher\", \"count\": 1, \"template\": {\"spec\": {\"containers\": [\n"                 \
  "{\"resources\": {\"requests\": {\"cpu\": 1}}}]}}},\n"                                                               \
  "{\"name\": \"worker\", \"count\": 4, \"template\": {\"spec\": {\"containers\": [\n"                                 \
  "{\"resources\": {\"requests\": {\"nvidia.com/mig-1g.10gb\": \"1\", \"memory\": \"1000Mi\"}}}]}}}]},\n"              \
  "\"status\": {\"admission\": {\"clusterQueue\": \"cq\", \"podSetAssignments\": [\n"                                  \
  "{\"name\": \"launcher\", \"count\": 1}, {\"name\": \"worker\", \"count\": 3}]},\n"                                  \
  "\"schedulingStats\": {\"evictions\": [{\"reason\": \"Preempted\", \"count\": 2}]},\n"                               \
  "\"conditions\": [{\"type\": \"QuotaReserved\", \"status\": \"True\", \"lastTransitionTime\": "                      \
  "\"2026-01-05T10:10:00Z\"},\n"                                                                                       \
  "{\"type\": \"Admitted\", \"status\": \"True\", \"lastTransitionTime\": \"2026-01-05T10:11:00Z\"},\n"                \
  "{\"type\": \"Finished\", \"status\": \"True\", \"reason\": \"Failed\",\n"                                           \
  "\"lastTransitionTime\": \"2026-01-05T10:41:00Z\"}]}}"
#define KUBE_POD                                                                                                       \
  "{\"kind\": \"Pod\",\n"                                                                                              \
  "\"metadata\": {\"name\": \"notebook\", \"namespace\": \"speech\", \"uid\": \"u-nb\",\n"                             \
  "\"creationTimestamp\": \"2026-01-05T10:00:30Z\"},\n"                                                                \
  "\"spec\": {\"priorityClassName\": \"high\", \"containers\": [\n"                                                    \
  "{\"resources\": {\"limits\": {\"nvidia.com/gpu.shared\": \"1\"}}}, {\"resources\": {}}]},\n"                        \
  "\"status\": {\"phase\": \"Failed\", \"reason\": \"Evicted\",\n"                                                     \
  "\"conditions\": [{\"type\": \"PodScheduled\", \"status\": \"True\", \"lastTransitionTime\": "                       \
  "\"2026-01-05T10:00:31Z\"}],\n"                                                                                      \
  "\"containerStatuses\": [{\"state\": {\"terminated\": {\"startedAt\": \"2026-01-05T10:00:40Z\",\n"                   \
  "\"finishedAt\": \"2026-01-05T10:05:31Z\"}}}, {\"state\": {\"terminated\": {\n"                                      \
  "\"startedAt\": \"2026-01-05T10:00:41Z\", \"finishedAt\": \"2026-01-05T10:05:30Z\"}}}]}}"
#define KUBE_REST                                                                                                      \
  "{\"kind\": \"PriorityClass\", \"metadata\": {\"name\": \"high\"},"                                                  \
  "\"value\": 1000},\n"                                                                                                \
  "{\"kind\": \"Event\", \"metadata\": {\"name\": \"e1\"}, \"reason\": \"Preempted\",\n"                               \
  "\"involvedObject\": {\"uid\": \"u-wl\"}, \"lastTimestamp\": \"2026-01-05T10:20:00Z\"},\n"                           \
  "{\"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"m\"}}"
#define KUBE_LIST(items)                                                                                               \
  "{\"apiVersion\": \"v1\",\n\"items\": [\n" items "\n],\n\"kind\": \"List\", \"metadata\": {}}\n"
#define KUBERNETES_SAMPLE                                                                                              \
  KUBE_LIST(KUBE_JOB ",\n" KUBE_WORKLOAD_OF_JOB ",\n" KUBE_POD_OF_JOB ",\n" KUBE_WORKLOAD ",\n" KUBE_POD               \
                     ",\n" KUBE_REST)

#define SWF_SAMPLE ";\n1 0 5 9 1 -1 -1 1 5 -1 1 1 1 1 1 1 1 1\n"
#define PHILLY_SAMPLE "timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09 07:01:55,66.0,1,66.0,a\n"
#define OPENB_SAMPLE                                                                                                   \
  "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"    \
  "p0,1,2,1,460,T4|P100,LS,Running,10,100,20\n"
#define CSV_SAMPLE "job_id,submit_s,duration_s,gpus\n1,0,5,1\n"
#define GAIA_SAMPLE "arrival_time,length,cpus\n3.0,7204.0,1\n68.0,7199.0,4\n69.0,7200.0,2\n"
#define LWA_SAMPLE                                                                                                     \
  "start_step,length_steps,slack_next_workday_steps,slack_semi_weekly_steps\n19,106,0,133\n21,8,0,136\n"

/* X(format, sample) for each sample. Detection must find this format. */
#define EVERY_SAMPLE(X)                                                                                                \
  X("csv", CSV_SAMPLE)                                                                                                 \
  X("swf", SWF_SAMPLE)                                                                                                 \
  X("philly", PHILLY_SAMPLE)                                                                                           \
  X("openb", OPENB_SAMPLE)                                                                                             \
  X("sacct", SACCT_SAMPLE)                                                                                             \
  X("kubernetes", KUBERNETES_SAMPLE)                                                                                   \
  X("philly-log", PHILLY_LOG_SAMPLE)                                                                                   \
  X("helios", HELIOS_SAMPLE)                                                                                           \
  X("pai2020", PAI_SAMPLE)                                                                                             \
  X("spot2026", SPOT_SAMPLE)                                                                                           \
  X("acme", SEREN_SAMPLE)                                                                                              \
  X("acme", KALOS_SAMPLE)                                                                                              \
  X("gavel", GAVEL_SAMPLE)                                                                                             \
  X("azure-llm", AZURE_SAMPLE)                                                                                         \
  X("batsim", BATSIM_SAMPLE)                                                                                           \
  X("gaia", GAIA_SAMPLE)                                                                                               \
  X("lwa", LWA_SAMPLE)

#endif
