"""Sources of instances: generators and traces."""
