"""`make bench`: every measurement, one after the other."""

from benchmarks import accuracy, estimator, misfit, peer_particles, server

estimator.main()
peer_particles.main()
server.main()
accuracy.main([])
misfit.main([])
