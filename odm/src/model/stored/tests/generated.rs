//! Code as the derives will generate it.

/// The two halves of a struct with named fields, each with its constant. A flattened field is `..name`.
macro_rules! fields {
    ($ty:ident { $($field:ident: $fty:ty = $constant:expr,)* $(..$flat:ident,)* }) => {
        const _: () = {
            struct Constants;
            #[allow(non_upper_case_globals)]
            impl Constants {
                $(const $field: $crate::model::stored::Field<$fty> = $constant;)*
            }

            impl $crate::model::stored::Fields for $ty {
                fn write_fields(
                    &self,
                    out: &mut $crate::model::stored::Out,
                ) -> $crate::model::stored::Done {
                    $(out.by(&self.$field, const { &Constants::$field })?;)*
                    $($crate::model::stored::Fields::write_fields(&self.$flat, out)?;)*
                    Ok(())
                }
            }

            impl $crate::model::stored::Row for $ty {
                fn read_row(
                    fields: &mut $crate::model::stored::Reader<'_>,
                ) -> $crate::model::stored::Read<Self> {
                    Ok($ty {
                        $($field: fields.by(const { &Constants::$field })?,)*
                        $($flat: $crate::model::stored::Row::read_row(fields)?,)*
                    })
                }
            }

            $crate::model::stored::embedded_type!($ty);
        };
    };
}
pub(super) use fields;

/// Bounds, of which one is declared.
macro_rules! bound {
    ($($name:ident: $value:expr),*) => {
        const {
            &$crate::model::stored::Limit::of(&$crate::model::shape::Bounds {
                $($name: Some($value),)*
                ..$crate::model::shape::Bounds::NONE
            })
        }
    };
}
pub(super) use bound;
