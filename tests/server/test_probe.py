def test_a(any_site):
    c = any_site.create()
    t = any_site.ticket(c)
    assert any_site.respond(c, t).status_code == 201
    any_site.learnt(c, 1)
    any_site.check_counts()
