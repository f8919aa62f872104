"""`make bench`: every measurement, one after the other."""

from benchmarks import accuracy, estimator, limit, peer_particles, server

estimator.main()
peer_particles.main()
server.main()
accuracy.main([])
limit.main([])
