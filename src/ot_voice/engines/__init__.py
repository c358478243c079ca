"""What runs inside the helper processes of the recognisers: plain blocking functions over their libraries."""
