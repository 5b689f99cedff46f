"""Reading files that may be damaged, writing files whole, folders of long runs, the cache folder."""
