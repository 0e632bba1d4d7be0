# SPDX-License-Identifier: GPL-3.0-or-later
# awk -f reference.awk COMPARISON.json COMPARISON.csv: prints the metrics of all jobs as a Markdown table, with one row
# per policy in the order of the CSV file. The JSON file provides only the seconds, because the CSV file does not have
# them.

function duration(s) {
  if (s < 99.95) return sprintf("%.1f s", s)
  if (s < 5997) return sprintf("%.1f min", s / 60)
  if (s < 359820) return sprintf("%.1f h", s / 3600)
  return sprintf("%.1f d", s / 86400)
}

FNR == 1 { file++ }
file == 1 && /"seconds": *{/ { in_seconds = 1; next }
file == 1 && in_seconds && /}/ { in_seconds = 0 }
file == 1 && in_seconds {
  split($0, part, "\"")
  seconds[part[2]] = part[3]
  gsub(/[:, ]/, "", seconds[part[2]])
}
file == 1 { next }

{ n = split($0, field, ",") }
FNR > 1 && field[2] == "all" {
  if (!(field[1] in at)) { at[field[1]] = ++count; policy[count] = field[1] }
  value[field[1], field[4]] = field[5]
}

END {
  print "| policy | mean wait | p95 wait | mean JCT | mean slowdown | Jain's index | mean finish-time fairness | seconds |"
  print "|---|---|---|---|---|---|---|---|"
  for (i = 1; i <= count; i++) {
    p = policy[i]
    printf "| `%s` | %s | %s | %s | %.2f | %.3f | %.2f | %.2f |\n", p, duration(value[p, "wait_mean_s"]), \
      duration(value[p, "wait_p95_s"]), duration(value[p, "jct_mean_s"]), value[p, "slowdown_mean"], value[p, "jain"], \
      value[p, "finish_time_fairness_mean"], seconds[p]
  }
}
