"""A second profile: ``pytest tests/property --hypothesis-profile=thorough`` tries hundreds of cases each."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "thorough", max_examples=300, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
