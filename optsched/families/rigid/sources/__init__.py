"""Sources of instances: generators and recorded logs."""
