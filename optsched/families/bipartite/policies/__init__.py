"""The paper's online algorithm, and the policies that it is compared with."""
