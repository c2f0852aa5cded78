"""Work on other machines, by Dask: reaching a cluster, trusting its workers, having jobs done."""
