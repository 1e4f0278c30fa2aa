// These tests set variables of the environment and bind what others could be about to bind.
[assembly: CollectionBehavior(DisableTestParallelization = true)]
