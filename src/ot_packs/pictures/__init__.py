"""Pictures: letters that fonts lack, and where a picture goes."""
