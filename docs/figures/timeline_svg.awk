#!/usr/bin/awk -f
# SPDX-License-Identifier: GPL-3.0-or-later
# Draws a run's --timeline as an SVG: GPUs allocated (mean of each slice of time) and jobs waiting (the most in it).
#
#   headroom run SCENARIO --quiet --timeline timeline.csv
#   awk -v title=demo -f docs/figures/timeline_svg.awk timeline.csv > timeline.svg
#
# Each row of the input holds from its time until the next one's.

BEGIN {
  FS = ","
  width = 800; left = 56; right = 16; panel = 130; top = 40; gap = 44
  columns = width - left - right
}

NR == 1 {
  for (i = 1; i <= NF; i++) place[$i] = i
  split("time_s waiting gpus_allocated gpus_total", needed, " ")
  for (i in needed) if (!(needed[i] in place)) refuse("column '" needed[i] "' is missing")
  next
}

{
  n++
  time[n] = $place["time_s"] + 0
  waiting[n] = $place["waiting"] + 0
  gpus[n] = $place["gpus_allocated"] + 0
  total = $place["gpus_total"] + 0
}

function refuse(why) {
  print "timeline_svg: " FILENAME ": " why > "/dev/stderr"
  failed = 1
  exit 1
}

# Spreads row i over the slices of time that it holds in.
function spread(i,    from, to, slice, start, end) {
  from = (time[i] - time[1]) / slice_s
  to = (time[i + 1] - time[1]) / slice_s
  for (slice = int(from); slice < to && slice < columns; slice++) {
    start = from > slice ? from : slice
    end = to < slice + 1 ? to : slice + 1
    mean_gpus[slice] += gpus[i] * (end - start)
    if (waiting[i] > most_waiting[slice]) most_waiting[slice] = waiting[i]
  }
  if (waiting[i] > top_waiting) top_waiting = waiting[i]
}

# The least of 1, 2, 5, 10, 20, ... that is at least x.
function nice(x,    power) {
  for (power = 1; power * 10 < x; power *= 10) {}
  return x <= power ? power : x <= 2 * power ? 2 * power : x <= 5 * power ? 5 * power : 10 * power
}

function text(x, y, anchor, words) {
  printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, words
}

# A panel: frame, ticks of the y axis, and its values as a filled step line.
function draw(y, label, values, highest, colour,    slice, value, i) {
  text(left, y - 8, "start", label)
  for (i = 0; i <= 2; i++) {
    printf "<path d=\"M%d %.1fH%d\" stroke=\"#ddd\"/>\n", left, y + panel * i / 2, left + columns
    text(left - 6, y + panel * i / 2 + 4, "end", highest * (2 - i) / 2)
  }
  printf "<path fill=\"%s\" fill-opacity=\"0.35\" stroke=\"%s\" d=\"M%d %d", colour, colour, left, y + panel
  for (slice = 0; slice < columns; slice++) {
    value = panel * (1 - values[slice] / highest)
    printf "%s%.1f", slice % 24 ? "V" : "\nV", y + value
    printf "h1"
  }
  printf "V%d\"/>\n", y + panel
}

function draw_days(y,    day_s, days, i, step) {
  day_s = 86400
  days = (time[n] - time[1]) / day_s
  step = nice(days / 10)
  for (i = 0; i <= days; i += step) text(left + columns * i / days, y, "middle", i)
  text(left + columns, y + 18, "end", "days")
}

END {
  if (failed) exit 1
  if (n < 2 || time[n] <= time[1]) refuse("nothing to draw")
  slice_s = (time[n] - time[1]) / columns
  for (i = 1; i < n; i++) spread(i)
  bottom = top + 2 * panel + gap
  height = bottom + 44
  printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" ", width, height
  printf "width=\"%d\" height=\"%d\" ", width, height
  print "font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\">"
  printf "<title>%s: GPUs allocated and jobs waiting</title>\n", title
  print "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>"
  draw(top, "GPUs allocated, of " total, mean_gpus, total, "#2a7f62")
  draw(top + panel + gap, "jobs waiting", most_waiting, nice(top_waiting > 0 ? top_waiting : 1), "#b5532a")
  draw_days(bottom + 18)
  print "</svg>"
}
