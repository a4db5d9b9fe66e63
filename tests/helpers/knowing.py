"""What policies know beforehand, for tests that start them by hand."""

from optsched.policies.knowledge import compute
from optsched.problem import family_of


def prior_of(inst, policy):
    """Return the prior of a policy, as `simulate` computes it."""
    return compute(family_of(inst), policy.knows, lambda: inst, policy.name)
