"""Benchmarks: each measures the product against a yardstick in the same run and has a bar to reach.

No part of the product. Absolute figures say more about the machine than about the code, so the bars are ratios
wherever a yardstick can be had.
"""
