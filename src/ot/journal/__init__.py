"""The journal: what runs were asked, the calls they made and how those ended, so that a later run can go on from it."""
