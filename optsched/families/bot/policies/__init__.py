"""The paper's online algorithm, and the schedulers that it is compared with."""
