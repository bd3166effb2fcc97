#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The speed of every engine against the number of data, as figure 3 of Ding & Zhong (PLDI 2003): an SVG.

  speed_figure.py RESULTS.lines >speed.svg

Reads what bench_approx wrote (bench=approx data=N contender=NAME ns=T); the last line of a point counts.
"""
import math
import sys

speeds = {}
for line in open(sys.argv[1], encoding="utf-8"):
    fields = dict(word.split("=", 1) for word in line.split() if "=" in word)
    if fields.get("bench") == "approx":
        speeds.setdefault(fields["contender"], {})[int(fields["data"])] = 1000 / float(fields["ns"])
if not speeds:
    sys.exit("speed_figure: no lines of bench_approx")

WIDE, HIGH, LEFT, BOTTOM, RIGHT = 860, 420, 70, 50, 150
COLOURS = ("#0b66c3", "#d1570a", "#0a8a6b", "#a33ea1", "#8a7400", "#c2304f", "#3b7f9e", "#6b6f76")
sizes = sorted({size for points in speeds.values() for size in points})
low, high = math.log10(sizes[0]), max(math.log10(sizes[-1]), math.log10(sizes[0]) + 1)
most = 10 * math.ceil(max(value for points in speeds.values() for value in points.values()) / 10)


def x(size):
    return LEFT + (WIDE - LEFT - RIGHT) * (math.log10(size) - low) / (high - low)


def y(speed):
    return (HIGH - BOTTOM) - (HIGH - BOTTOM - 20) * speed / most


def text(at, up, words, anchor="middle", colour="#5b6675"):
    return f'<text x="{at:.1f}" y="{up:.1f}" text-anchor="{anchor}" fill="{colour}">{words}</text>'


print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {HIGH}" font-family="sans-serif" font-size="13">')
print(f'<rect width="{WIDE}" height="{HIGH}" fill="#ffffff"/>')
for power in range(math.ceil(low), math.floor(high) + 1):
    print(f'<path d="M{x(10**power):.1f} 20V{HIGH - BOTTOM}" stroke="#e9ecf1"/>')
    print(text(x(10**power), HIGH - BOTTOM + 18, f'10<tspan dy="-5" font-size="9">{power}</tspan>'))
for step in range(6):
    print(f'<path d="M{LEFT} {y(most * step / 5):.1f}H{WIDE - RIGHT}" stroke="#e9ecf1"/>')
    print(text(LEFT - 8, y(most * step / 5) + 4, f"{most * step / 5:g}", "end"))
print(text((LEFT + WIDE - RIGHT) / 2, HIGH - 8, "data"))
print(text(LEFT, 12, "million references a second", "start"))
labels = []
for index, (name, points) in enumerate(speeds.items()):
    colour = COLOURS[index % len(COLOURS)]
    line = sorted(points.items())
    path = "L".join(f"{x(size):.1f} {y(speed):.1f}" for size, speed in line)
    print(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
    for size, speed in line:
        print(f'<circle cx="{x(size):.1f}" cy="{y(speed):.1f}" r="3" fill="{colour}"/>')
    up = 30 + 18 * index
    print(f'<path d="M{WIDE - RIGHT + 12} {up - 4}h18" stroke="{colour}" stroke-width="2"/>')
    print(text(WIDE - RIGHT + 36, up, name, "start", "#1b2330"))
print("</svg>")
