"""Code shared by several families: jobs, posted prices, placements, queues."""
