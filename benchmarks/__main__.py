"""`make bench`: every measurement, one after the other."""

from benchmarks import accuracy, estimator, families, peer_particles, server

estimator.main()
peer_particles.main()
server.main()
accuracy.main([])
families.main([])
