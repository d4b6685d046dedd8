"""The formats a run can be saved in, one file each; `visualize.export` lists them."""
