"""What to ask next: pools of questions from the posterior, by expected variance or by Thompson sampling.

May import: `design`, `dither_client`, `families`, `mechanisms`, `particles`, `specification`.
"""
