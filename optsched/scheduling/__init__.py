"""What several families share: jobs, posted prices, placements, queues."""
