import re

from testing.servers.site import Site, problem


def test_the_page_to_answer_on_runs_scripts_of_this_server_alone(site: Site) -> None:
    reply = site.client.get(f"/collections/{site.create(name='Wages <b>')}/answer")
    policies = reply.headers.get_list("content-security-policy")
    assert len(policies) == 1
    assert "script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'none'" in policies[0]
    assert "unsafe" not in policies[0]
    assert re.findall(r"<script[^>]*>", reply.text) == ['<script type="module" src="/answer/answer.js">']
    assert not re.search(r"(src|href)=.?(https?:)?//", reply.text)
    assert not re.search(r" (style|on[a-z]+)=", reply.text)
    assert "Wages &lt;b&gt;" in reply.text
    assert "<strong>73.1%</strong>" in reply.text


def test_the_page_to_answer_on_does_not_know_the_question(site: Site) -> None:
    """It is the same for everyone, before and after questions were asked."""
    collection = site.create()
    before = site.client.get(f"/collections/{collection}/answer").text
    site.respond(collection, site.ticket(collection), 1)
    assert site.client.get(f"/collections/{collection}/answer").text == before


def test_the_module_is_served_and_nothing_beside_it(site: Site) -> None:
    for name, kind in (("web/dither.js", "javascript"), ("web/dither.d.ts", "plain"), ("answer/answer.css", "css")):
        reply = site.client.get(f"/{name}")
        assert reply.headers["content-type"].startswith(f"text/{kind}")
        assert reply.headers["cache-control"] == "no-store"
    for name in ("web/missing.js", "web/..%2F__init__.py", "web/%2e%2e", "answer/answer.html"):
        assert problem(site.client.get(f"/{name}"))[0] == 404
