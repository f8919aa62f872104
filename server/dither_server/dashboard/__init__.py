"""What the pages for a browser are made of, apart from their routes."""
