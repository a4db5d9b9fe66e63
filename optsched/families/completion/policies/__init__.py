"""The paper's online algorithms, and the schedulers that they are compared with."""
