"""What holds for every test."""

from hypothesis import HealthCheck, settings

# How long an example takes says how busy the machine is.
settings.register_profile("dither", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("dither")

pytest_plugins = ["testing.collector", "testing.order", "testing.servers.seeds"]
