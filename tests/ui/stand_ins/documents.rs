//! Uses of a document whose attribute has an error: that error is all that is reported.
use mongodb::bson::{DateTime, oid::ObjectId};
use odm::prelude::*;
use odm::request::{Eq, RequestQuery, Sort};
use odm::patch::Patch;

#[derive(Document, Debug, Clone)]
#[document(
    collection = "projects",
    sofdelete,
    soft_delete,
    version,
    builder,
    patch,
    new(derive(Clone, serde::Serialize, serde::Deserialize))
)]
struct Project {
    id: ObjectId,
    name: String,
    #[field(default = 3)]
    stars: i32,
    version: i64,
    deleted_at: Option<DateTime>,
}

/// Whether `soft_delete` is what is mistyped can't be known.
#[derive(Document, Debug, Clone)]
#[document(collection = "others", softdelete)]
struct Other {
    id: ObjectId,
    deleted_at: Option<DateTime>,
}

#[derive(Document, Debug, Clone)]
#[document(collection = "articles")]
struct Article {
    id: ObjectId,
    #[parent_ref]
    project: Ref<Project>,
}

#[derive(RequestQuery)]
#[request(of = Project)]
struct ProjectQuery {
    name: Eq<String>,
    #[request(sort(name, stars))]
    sort: Sort,
}

#[derive(Projection)]
#[projection(of = Project)]
struct ProjectName {
    name: String,
}

#[derive(serde::Deserialize)]
struct Body {
    project: NewProject,
}

async fn uses(odm: Odm, project: Project, other: Other, query: ProjectQuery, body: Body) -> odm::Result<()> {
    let projects = odm.collection::<Project>();
    projects.restore(&project).await?;
    odm.collection::<Other>().restore(&other).await?;
    let new = NewProject::builder().name("a").stars(4).build();
    projects.insert(new.clone()).await?;
    projects.insert(NewProject::new("a".to_owned())).await?;
    projects.insert(NewProject { name: "a".to_owned(), stars: Project::default_stars() }).await?;
    projects.insert(body.project).await?;
    projects.update(&project).set(|p| p.name, "b").if_version(3).await?;
    let patch = ProjectPatch { name: Patch::Value("b".to_owned()), ..ProjectPatch::default() };
    projects.update(&project).apply(patch).await?;
    projects.find_all().include(|p| p.children::<Article>()).all().await?;
    projects.find_all().request(query).page(20).await?;
    projects.find(|p| p.stars.gt(3)).select::<ProjectName>().all().await?;
    Ok(())
}

fn main() {}
