"""Which questions to ask next: pools of questions by expected variance reduction or by Thompson sampling.

May import: `design`, `dither_client`, `families`, `mechanisms`, `particles`, `specification`, `weighted`.
"""
