"""As much of GraphQL as the sandbox needs: queries over a small schema.

A query is checked against the schema before it is answered, so an unknown field gives `errors` and no data, as with any
GraphQL server (https://spec.graphql.org/October2021/#sec-Validation). There is no introspection.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .graphql_syntax import Arguments, Document, Fragment, GraphQLError, Selection, Variable, parse

Resolver = Callable[[Any, Arguments], Any]


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the schema."""

    resolve: Resolver
    type: str | None = None
    """Name of the object type; None for a scalar."""


Schema = Mapping[str, Mapping[str, Field]]
"""Fields by type; the entry point is `Query`. A dictionary tells its type by `__typename` where it can be several."""


def execute(schema: Schema, query: str, variables: Mapping[str, Any], operation: str | None = None) -> dict[str, Any]:
    """Answer a query.

    Args:
        schema: what can be asked.
        query: the document.
        variables: values by name.
        operation: which of several operations is meant.

    Raises:
        GraphQLError: the document or its variables are at fault.

    >>> schema = {"Query": {"greeting": Field(lambda _, arguments: f"Hello {arguments['to']}")}}
    >>> execute(schema, "query G($who: String!) { greeting(to: $who) }", {"who": "world"})
    {'greeting': 'Hello world'}
    """
    document = parse(query)
    if operation is not None and operation not in document.operations:
        raise GraphQLError(f"Unknown operation named '{operation}'")
    if operation is None and len(document.operations) != 1:
        raise GraphQLError("Must provide operation name if query contains multiple operations")
    chosen = document.operations[operation if operation is not None else next(iter(document.operations))]
    given = {**document.defaults, **variables}
    for name in document.required:
        if given.get(name) is None:
            raise GraphQLError(f"Variable '${name}' expected value but did not get one")
    _check(schema, document, "Query", chosen)
    return _object(schema, document, given, "Query", None, chosen)


def _check(schema: Schema, document: Document, kind: str, selections: Sequence[Selection | Fragment]) -> None:
    """Refuse fields that the schema does not know, and objects without a selection."""
    for each in selections:
        if isinstance(each, Fragment):
            fragment = _named(document, each)
            if fragment.on is not None and fragment.on not in schema:
                raise GraphQLError(f"Unknown type '{fragment.on}'")
            _check(schema, document, fragment.on or kind, fragment.children)
        elif each.name != "__typename":
            known = schema[kind].get(each.name)
            if known is None:
                raise GraphQLError(f"Cannot query field '{each.name}' on type '{kind}'")
            if known.type is not None and not each.children:
                raise GraphQLError(f"Field '{each.name}' of type '{known.type}' must have a sub selection")
            if known.type is None and each.children:
                raise GraphQLError(f"Field '{each.name}' must not have a sub selection, since it has no subfields")
            if known.type is not None:
                _check(schema, document, known.type, each.children)


def _named(document: Document, fragment: Fragment) -> Fragment:
    if fragment.name is None:
        return fragment
    if fragment.name not in document.fragments:
        raise GraphQLError(f"Unknown fragment '{fragment.name}'")
    return document.fragments[fragment.name]


def _object(
    schema: Schema,
    document: Document,
    given: Arguments,
    kind: str,
    source: Any,
    selections: Sequence[Selection | Fragment],
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for each in selections:
        if isinstance(each, Fragment):
            fragment = _named(document, each)
            if fragment.on in (None, kind):
                found |= _object(schema, document, given, kind, source, fragment.children)
        elif each.name == "__typename":
            found[each.alias] = kind
        else:
            known = schema[kind][each.name]
            value = known.resolve(source, _filled(each.arguments, given))
            found[each.alias] = _completed(schema, document, given, known.type, value, each.children)
    return found


def _completed(
    schema: Schema, document: Document, given: Arguments, kind: str | None, value: Any, children: Any
) -> Any:
    if kind is None or value is None:
        return value
    if isinstance(value, list):
        return [_completed(schema, document, given, kind, each, children) for each in value]
    own = value.get("__typename", kind) if isinstance(value, dict) else kind
    return _object(schema, document, given, own, value, children)


def _filled(value: Any, given: Arguments) -> Any:
    """Arguments with their variables' values."""
    if isinstance(value, Variable):
        return given.get(value.name)
    if isinstance(value, dict):
        return {name: _filled(each, given) for name, each in value.items()}
    return [_filled(each, given) for each in value] if isinstance(value, list) else value
