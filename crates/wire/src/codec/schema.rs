//! `schema.proto`: schemas as answers describe them.

use omnigraph_types::{
    Cardinality, Failure, GraphName, LanceBranch, ListTables, Page, PageRequest, PropertyId, PropertyInfo, ReadAt,
    SchemaInfo, TableId, TableInfo, TablePage, TableState, TableVersion, TypeChoice, TypeKind, TypeShape, TypeSummary,
};

use super::common::{read_at_from_wire, read_at_to_wire, type_kind_from_wire, type_kind_to_wire};
use super::field::{all, decoded, each, graph_name, non_empty, optional, present};
use super::message::{AnswerCodec, MalformedAnswer, RequestCodec};
use crate::v1;

impl AnswerCodec for v1::Property {
    type Value = PropertyInfo;

    fn to_wire(property: PropertyInfo) -> Self {
        Self {
            name: property.name,
            r#type: Some(v1::DataType::to_wire(property.ty)),
            nullable: property.nullable,
            property_id: property.id.0,
            description: property.description.unwrap_or_default(),
        }
    }

    fn from_wire(property: Self) -> Result<PropertyInfo, MalformedAnswer> {
        Ok(PropertyInfo {
            name: property.name,
            id: PropertyId(property.property_id),
            ty: decoded("Property.type", property.r#type)?,
            nullable: property.nullable,
            description: non_empty(property.description),
        })
    }
}

fn cardinality_to_wire(bounds: Cardinality) -> v1::Cardinality {
    v1::Cardinality { min: bounds.min, max: bounds.max }
}

fn cardinality_from_wire(bounds: v1::Cardinality) -> Cardinality {
    Cardinality { min: bounds.min, max: bounds.max }
}

impl AnswerCodec for v1::TypeSummary {
    type Value = TypeSummary;

    fn to_wire(summary: TypeSummary) -> Self {
        let kind = type_kind_to_wire(summary.shape.kind());
        let (from_type, to_type, cardinality) = match summary.shape {
            TypeShape::Node => (String::new(), String::new(), None),
            TypeShape::Edge { from_type, to_type, cardinality } => (from_type, to_type, cardinality),
        };
        Self {
            name: summary.name,
            kind,
            type_id: summary.id.0,
            properties: each(summary.properties),
            key: summary.key,
            from_type,
            to_type,
            cardinality: cardinality.map(cardinality_to_wire),
            constraints: summary.constraints,
            description: summary.description.unwrap_or_default(),
            instruction: summary.instruction.unwrap_or_default(),
        }
    }

    fn from_wire(summary: Self) -> Result<TypeSummary, MalformedAnswer> {
        let shape = match present("TypeSummary.kind", type_kind_from_wire(summary.kind))? {
            TypeKind::Node => TypeShape::Node,
            TypeKind::Edge => TypeShape::Edge {
                from_type: summary.from_type,
                to_type: summary.to_type,
                cardinality: summary.cardinality.map(cardinality_from_wire),
            },
        };
        Ok(TypeSummary {
            name: summary.name,
            id: TableId(summary.type_id),
            shape,
            properties: all(summary.properties)?,
            key: summary.key,
            constraints: summary.constraints,
            description: non_empty(summary.description),
            instruction: non_empty(summary.instruction),
        })
    }
}

impl RequestCodec for v1::GetSchemaRequest {
    type Value = (GraphName, ReadAt);

    fn to_wire((graph, at): Self::Value) -> Self {
        Self { graph: graph.into(), at: Some(read_at_to_wire(at)) }
    }

    fn from_wire(request: Self) -> Result<Self::Value, Failure> {
        Ok((graph_name("graph", &request.graph)?, read_at_from_wire("at", request.at)?))
    }
}

impl RequestCodec for v1::ListTablesRequest {
    type Value = (GraphName, ListTables);

    fn to_wire((graph, list): Self::Value) -> Self {
        let r#type = match list.types {
            TypeChoice::All => String::new(),
            TypeChoice::Named(name) => name,
        };
        let PageRequest { size, token } = list.page;
        let at = Some(read_at_to_wire(list.at));
        Self { graph: graph.into(), at, r#type, page_size: size, page_token: token }
    }

    fn from_wire(request: Self) -> Result<Self::Value, Failure> {
        let list = ListTables {
            at: read_at_from_wire("at", request.at)?,
            types: non_empty(request.r#type).map_or(TypeChoice::All, TypeChoice::Named),
            page: PageRequest { size: request.page_size, token: request.page_token },
        };
        Ok((graph_name("graph", &request.graph)?, list))
    }
}

impl AnswerCodec for v1::Table {
    type Value = TableInfo;

    fn to_wire(table: TableInfo) -> Self {
        let (base_paths, damage) = match table.state {
            TableState::Sound { base_paths } => (base_paths, String::new()),
            TableState::Damaged { reason } => (Vec::new(), reason),
        };
        let lance_branch = match table.branch {
            LanceBranch::Main => String::new(),
            LanceBranch::Named(tree) => tree.to_string(),
        };
        Self {
            r#type: table.type_name,
            kind: type_kind_to_wire(table.kind),
            key: table.key,
            row_count: table.row_count,
            dataset_uri: table.dataset,
            lance_branch,
            lance_version: table.version.0,
            base_paths,
            damage,
        }
    }

    fn from_wire(table: Self) -> Result<TableInfo, MalformedAnswer> {
        Ok(TableInfo {
            type_name: table.r#type,
            kind: present("Table.kind", type_kind_from_wire(table.kind))?,
            key: table.key,
            row_count: table.row_count,
            dataset: table.dataset_uri,
            branch: optional("Table.lance_branch", &table.lance_branch)?.map_or(LanceBranch::Main, LanceBranch::Named),
            version: TableVersion(table.lance_version),
            state: match non_empty(table.damage) {
                None => TableState::Sound { base_paths: table.base_paths },
                Some(reason) => TableState::Damaged { reason },
            },
        })
    }
}

impl AnswerCodec for v1::ListTablesResponse {
    type Value = TablePage;

    fn to_wire(TablePage { page, commit }: TablePage) -> Self {
        Self { tables: each(page.items), commit: Some(v1::Commit::to_wire(commit)), next_page_token: page.next }
    }

    fn from_wire(response: Self) -> Result<TablePage, MalformedAnswer> {
        Ok(TablePage {
            page: Page { items: all(response.tables)?, next: response.next_page_token },
            commit: decoded("ListTablesResponse.commit", response.commit)?,
        })
    }
}

impl AnswerCodec for v1::GetSchemaResponse {
    type Value = SchemaInfo;

    fn to_wire(info: SchemaInfo) -> Self {
        let schema = v1::Schema {
            source: info.source,
            contract_json: info.contract_json,
            hash: info.hash,
            types: each(info.types),
        };
        Self { schema: Some(schema), commit: Some(v1::Commit::to_wire(info.commit)) }
    }

    fn from_wire(response: Self) -> Result<SchemaInfo, MalformedAnswer> {
        let schema = present("GetSchemaResponse.schema", response.schema)?;
        Ok(SchemaInfo {
            source: schema.source,
            contract_json: schema.contract_json,
            hash: schema.hash,
            types: all(schema.types)?,
            commit: decoded("GetSchemaResponse.commit", response.commit)?,
        })
    }
}
