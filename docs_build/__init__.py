"""What makes a site of the documentation: `make docs`."""
