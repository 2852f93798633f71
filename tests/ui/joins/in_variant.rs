//! A document may have another variant than the one with the reference, so nothing is joined by it.
use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "drivers")]
struct Driver {
    id: i32,
}

#[derive(Document, Clone)]
#[document(collection = "parcels")]
struct Parcel {
    id: i32,
    status: Status,
}

#[derive(Embed, Clone)]
#[embed(tag = "kind")]
enum Status {
    Packed,
    Shipped {
        #[reference]
        driver: Ref<Driver>,
    },
}

fn joins(parcels: Collection<Parcel>, drivers: Collection<Driver>) {
    let _ = parcels.find_all().include(|p| p.status.shipped.driver);
    let _ = drivers
        .find_all()
        .include(|d| d.children_by(|p: ParcelFields| p.status.shipped.driver));
}

fn main() {}
