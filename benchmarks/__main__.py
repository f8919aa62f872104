"""`make bench`: every measurement, one after the other."""

from benchmarks import accuracy, attacks, estimator, peer_particles, server

estimator.main()
peer_particles.main()
server.main()
accuracy.main([])
attacks.main([])
