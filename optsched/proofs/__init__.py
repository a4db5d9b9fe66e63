"""Code shared by the checkers of several families; no solver may use it."""
