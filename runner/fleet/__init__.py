"""Several runs on one machine: order, side by side, nothing left out of the answer."""
