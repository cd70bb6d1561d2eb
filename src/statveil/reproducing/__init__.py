"""The paper's figures and tables made anew, one file each in ``items``, and one page that collects them."""
