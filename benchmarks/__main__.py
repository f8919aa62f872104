"""`make bench`: every measurement, one after the other, each in a process of its own."""

import subprocess
import sys
import time

BENCHMARKS = (
    "estimator",
    "count_table",
    "warehouse",
    "drawing",
    "peer_particles",
    "peer_histogram",
    "server",
    "bulk",
    "waiting",
    "burst",
    "memory",
    "many_collections",
    "day",
    "replicas",
    "scale_model",
    "accuracy",
    "any_distribution",
    "exactness",
    "price_of_no_family",
    "distribution_peers",
    "peer_quantiles",
    "smoothness",
    "groups",
    "periods",
    "jumps",
    "panels",
    "calibration",
    "calibration_of_periods",
    "calibration_of_several_numbers",
    "calibration_without_family",
    "products",
    "bounds",
    "misfit",
    "plan",
    "families",
    "attacks",
    "steering",
    "timing",
    "privacy_limit",
    "pairs",
    "several_numbers",
    "whole_distribution",
    "categories",
    "category_groups",
    "rules",
    "levels",
    "regret",
    "ticket_limits",
    "hostile",
    "public_reads",
    "pages",
)

for number, name in enumerate(BENCHMARKS, 1):
    print(f"[{number}/{len(BENCHMARKS)}] python -m benchmarks.{name}", file=sys.stderr, flush=True)
    began = time.monotonic()
    subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=True)
    print(f"    took {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
