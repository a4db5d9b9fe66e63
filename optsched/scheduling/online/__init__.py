"""What online policies of several families share: posted prices, queues, filling, free capacity."""
