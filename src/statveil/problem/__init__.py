"""What is asked: families, priors, secrets, known structure, and the problem made of them."""

from statveil.problem import families, priors, secrets  # noqa: F401  (fills the registries)
