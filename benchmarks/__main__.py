"""`make bench`: every measurement, one after the other."""

from benchmarks import (
    accuracy,
    attacks,
    calibration,
    drawing,
    estimator,
    families,
    limit,
    misfit,
    peer_particles,
    plan,
    rules,
    server,
)

estimator.main()
drawing.main([])
peer_particles.main()
server.main()
accuracy.main([])
calibration.main([])
misfit.main([])
plan.main([])
families.main([])
attacks.main([])
limit.main([])
rules.main([])
